// Package pod explains why a Pod is not ready. It finds the first step at which the Pod is stuck:
// its node, volumes, other references, images, containers or probes. The package never reads the
// contents of Secrets. Start with [On] and [Rules.Explain].
package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Explain explains why a Pod is not ready, based on the first step at which it is stuck.
func (v Rules) Explain(p *corev1.Pod) []rule.Finding {
	defer v.OnlyKnownUnless(v.IsDetailed(p))()
	switch {
	case rule.Ready(p), p.Status.Phase == corev1.PodSucceeded:
		return nil
	case p.DeletionTimestamp != nil:
		return v.podLeaving(p)
	case p.Status.Phase == corev1.PodFailed:
		return v.podFailed(p)
	case p.Spec.NodeName == "":
		return v.unscheduled(p)
	}
	if found := v.node(p); found != nil {
		return found
	}
	for _, rules := range []func(*corev1.Pod) []rule.Finding{
		v.missing, v.initContainers, v.containers, v.volumes.Mounts, v.sandbox, v.readinessGates, v.starting,
	} {
		if found := rules(p); len(found) > 0 {
			return found
		}
	}
	return nil
}

func (v Rules) podLeaving(p *corev1.Pod) []rule.Finding {
	// The deletion timestamp includes the grace period.
	if v.Now.IsZero() || v.Now.Before(p.DeletionTimestamp.Time) {
		return nil
	}
	c := event.Cause{
		Code:      "PodTerminating",
		Message:   "is being deleted, but does not terminate",
		Next:      rule.Kubectl(p.Namespace, "describe", "pod", p.Name),
		BlockedBy: diagnose.RefOf("v1", "Pod", p.Namespace, p.Name),
	}
	c.Evidence = []string{"it has been past its grace period" + v.Since(*p.DeletionTimestamp)}
	if len(p.Finalizers) > 0 {
		c.Evidence = append(c.Evidence, "finalizers: "+text.List(p.Finalizers, 5))
	}
	if p.Spec.NodeName != "" {
		if node := v.node(p); node != nil {
			return node // The node's kubelet cannot stop the Pod.
		}
	}
	return []rule.Finding{rule.Of(p, rule.Direct, c)}
}

func (v Rules) podFailed(p *corev1.Pod) []rule.Finding {
	if p.Status.Reason != "" { // Evicted, NodeAffinity, OutOfcpu, Shutdown…
		code := "PodRejected"
		if p.Status.Reason == "Evicted" {
			code = "PodEvicted"
		}
		return []rule.Finding{rule.Of(p, rule.Direct, event.Cause{
			Code:      code,
			Message:   "was terminated by its node: " + text.Excerpt(p.Status.Reason),
			Evidence:  []string{text.Excerpt("Pod " + p.Name + " on node " + p.Spec.NodeName + ": " + p.Status.Message)},
			Next:      rule.Kubectl("", "describe", "node", p.Spec.NodeName),
			BlockedBy: diagnose.RefOf("v1", "Node", "", p.Spec.NodeName),
		})}
	}
	if found := v.initContainers(p); len(found) > 0 {
		return found
	}
	return v.containers(p)
}

func (v Rules) node(p *corev1.Pod) []rule.Finding {
	r := diagnose.RefOf("v1", "Node", "", p.Spec.NodeName)
	u, sure := v.Read(r)
	if u == nil && sure {
		return []rule.Finding{rule.Of(p, rule.Root, event.Cause{
			Code:      "NodeMissing",
			Message:   "is bound to node " + p.Spec.NodeName + ", which no longer exists",
			Next:      rule.Kubectl(p.Namespace, "delete", "pod", p.Name, "--force", "--grace-period=0"),
			Risk:      "its containers may keep running somewhere, unknown to Kubernetes",
			BlockedBy: r,
		})}
	}
	node, ok := rule.As[corev1.Node](v.View, u)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 || node.Status.Conditions[i].Status == corev1.ConditionTrue {
		return nil
	}
	c := node.Status.Conditions[i]
	return []rule.Finding{rule.Of(p, rule.Root, event.Cause{
		Code:      "NodeNotReady",
		Message:   "runs on node " + node.Name + ", which has been NotReady" + v.Since(c.LastTransitionTime),
		Evidence:  []string{fmt.Sprintf("node %s: condition Ready=%s", node.Name, c.Status) + readiness.Detail(text.Excerpt(c.Reason), text.Excerpt(c.Message))},
		Next:      rule.Kubectl("", "describe", "node", node.Name),
		BlockedBy: r,
	})}
}

func (v Rules) sandbox(p *corev1.Pod) []rule.Finding {
	e := v.Warning(p, "FailedCreatePodSandBox", "NetworkNotReady", "FailedPrepareDynamicResources")
	if e == nil {
		return nil
	}
	return []rule.Finding{rule.Of(p, rule.Direct, event.Cause{
		Code:      "SandboxFailed",
		Message:   "its node cannot set up the Pod (" + text.Excerpt(e.Reason) + "); no container has started",
		Evidence:  append([]string{"on node " + p.Spec.NodeName}, rule.Quoted(e)...),
		Next:      rule.Kubectl("", "get", "pods", "-n", "kube-system", "-o", "wide", "--field-selector", "spec.nodeName="+p.Spec.NodeName),
		BlockedBy: diagnose.RefOf("v1", "Node", "", p.Spec.NodeName),
	})}
}

func (v Rules) readinessGates(p *corev1.Pod) []rule.Finding {
	if rule.PodCondition(p, corev1.ContainersReady).Status != corev1.ConditionTrue {
		return nil
	}
	var found []rule.Finding
	for _, gate := range p.Spec.ReadinessGates {
		c := rule.PodCondition(p, gate.ConditionType)
		if c.Status == corev1.ConditionTrue {
			continue
		}
		evidence := "condition " + string(gate.ConditionType) + " was never set"
		if c.Status != "" {
			evidence = fmt.Sprintf("condition %s=%s", gate.ConditionType, c.Status) + readiness.Detail(text.Excerpt(c.Reason), text.Excerpt(c.Message))
		}
		found = append(found, rule.Of(p, rule.Answers, event.Cause{
			Code:     "ReadinessGate",
			Message:  "all containers are ready, but readiness gate " + text.Excerpt(string(gate.ConditionType)) + " is not met: its controller has to set that condition",
			Evidence: []string{evidence},
			Next:     rule.Kubectl(p.Namespace, "describe", "pod", p.Name),
		}))
	}
	return found
}

func (v Rules) starting(p *corev1.Pod) []rule.Finding {
	c := rule.PodCondition(p, corev1.PodScheduled)
	var waiting []string
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting != nil && s.State.Waiting.Reason != "" {
			waiting = append(waiting, text.Excerpt(s.State.Waiting.Reason))
		}
	}
	cause := event.Cause{
		Code:    "Starting",
		Message: "is starting; nothing looks wrong so far",
		Next:    rule.Kubectl(p.Namespace, "describe", "pod", p.Name),
	}
	if waiting = rule.Distinct(waiting); len(waiting) > 0 {
		cause.Evidence = append(cause.Evidence, "waiting containers: "+text.List(waiting, 3))
	}
	cause.Evidence = append(cause.Evidence, "Pod "+p.Name+" has been on node "+p.Spec.NodeName+v.Since(c.LastTransitionTime))
	return []rule.Finding{rule.Of(p, rule.Consequence, cause)}
}

// Rules are the rules about Pods.
type Rules struct {
	*rule.View
	volumes VolumeRules
}

// On returns the rules for a view.
func On(v *rule.View) Rules { return Rules{View: v, volumes: VolumeRules{v}} }

type reference struct {
	ref object.Ref
	by  string // the volume or container that needs it
}

// references returns the ConfigMaps and Secrets without which the Pod cannot start, each once. An optional
// one cannot block it.
func references(namespace string, spec *corev1.PodSpec) []reference {
	var out []reference
	add := func(kind, name, by string, optional *bool) {
		ref := diagnose.RefOf("v1", kind, namespace, name)
		known := slices.ContainsFunc(out, func(r reference) bool { return r.ref == ref })
		if name != "" && (optional == nil || !*optional) && !known {
			out = append(out, reference{ref, by})
		}
	}
	for _, vol := range spec.Volumes {
		by := "volume " + vol.Name
		switch {
		case vol.ConfigMap != nil:
			add("ConfigMap", vol.ConfigMap.Name, by, vol.ConfigMap.Optional)
		case vol.Secret != nil:
			add("Secret", vol.Secret.SecretName, by, vol.Secret.Optional)
		case vol.Projected != nil:
			for _, source := range vol.Projected.Sources {
				if source.ConfigMap != nil {
					add("ConfigMap", source.ConfigMap.Name, by, source.ConfigMap.Optional)
				}
				if source.Secret != nil {
					add("Secret", source.Secret.Name, by, source.Secret.Optional)
				}
			}
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		ofContainer(c, add)
	}
	return out
}

func ofContainer(c corev1.Container, add func(kind, name, by string, optional *bool)) {
	by := "container " + c.Name
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef != nil {
			add("ConfigMap", from.ConfigMapRef.Name, by, from.ConfigMapRef.Optional)
		}
		if from.SecretRef != nil {
			add("Secret", from.SecretRef.Name, by, from.SecretRef.Optional)
		}
	}
	for _, env := range c.Env {
		switch from := env.ValueFrom; {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			add("ConfigMap", from.ConfigMapKeyRef.Name, by, from.ConfigMapKeyRef.Optional)
		case from.SecretKeyRef != nil:
			add("Secret", from.SecretKeyRef.Name, by, from.SecretKeyRef.Optional)
		}
	}
}

func (v Rules) missing(p *corev1.Pod) []rule.Finding {
	if !rule.Unstarted(p) {
		return nil
	}
	var found []rule.Finding
	for _, r := range references(p.Namespace, &p.Spec) {
		if !v.Absent(r.ref) {
			continue
		}
		kind := r.ref.GVK.Kind
		c := event.Cause{
			Code:      kind + "Missing",
			Message:   r.by + " needs " + kind + " " + r.ref.Name + ", which does not exist",
			Next:      rule.Kubectl(p.Namespace, "get", "configmaps"),
			BlockedBy: r.ref,
		}
		if kind == "Secret" {
			c.Next = rule.Kubectl(p.Namespace, "get", "secrets")
		}
		e := v.Warning(p, "FailedMount", "Failed")
		c.Evidence = append([]string{rule.Name(r.ref) + " is not found"}, rule.Quoted(e)...)
		found = append(found, rule.Of(p, rule.Root, c))
	}
	return found
}
