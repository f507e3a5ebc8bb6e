package unready

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// pod tells why one Pod is not ready: the first of the steps to being ready that
// it does not get over.
func (v *view) pod(p *corev1.Pod) []finding {
	defer v.onlyKnownUnless(v.detailed[nameOf(p)])()
	switch {
	case ready(p), p.Status.Phase == corev1.PodSucceeded:
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
	for _, rules := range []func(*corev1.Pod) []finding{
		v.missing, v.initContainers, v.containers, v.mounts, v.sandbox, v.readinessGates, v.starting,
	} {
		if found := rules(p); len(found) > 0 {
			return found
		}
	}
	return nil
}

// podLeaving says that a Pod takes longer to end than it was given.
func (v *view) podLeaving(p *corev1.Pod) []finding {
	// The timestamp is when its grace period is over.
	if v.Now.IsZero() || v.Now.Before(p.DeletionTimestamp.Time) {
		return nil
	}
	c := event.Cause{
		Code:      "PodTerminating",
		Message:   "is being deleted and does not end",
		Next:      kubectl(p.Namespace, "describe", "pod", p.Name),
		BlockedBy: ref(core("Pod"), p.Namespace, p.Name),
	}
	c.Evidence = []string{"its grace period has been over" + v.since(*p.DeletionTimestamp)}
	if len(p.Finalizers) > 0 {
		c.Evidence = append(c.Evidence, "finalizers: "+text.List(p.Finalizers, 5))
	}
	if p.Spec.NodeName != "" {
		if node := v.node(p); node != nil {
			return node // Its kubelet is not there to end it.
		}
	}
	return []finding{of(p, direct, c)}
}

// podFailed tells why a Pod ended: by its containers, or taken away by the node.
func (v *view) podFailed(p *corev1.Pod) []finding {
	if p.Status.Reason != "" { // Evicted, NodeAffinity, OutOfcpu, Shutdown…
		code := "PodRejected"
		if p.Status.Reason == "Evicted" {
			code = "PodEvicted"
		}
		return []finding{of(p, direct, event.Cause{
			Code:      code,
			Message:   "was terminated by its node: " + text.Excerpt(p.Status.Reason),
			Evidence:  []string{text.Excerpt("Pod " + p.Name + " on node " + p.Spec.NodeName + ": " + p.Status.Message)},
			Next:      kubectl("", "describe", "node", p.Spec.NodeName),
			BlockedBy: ref(core("Node"), "", p.Spec.NodeName),
		})}
	}
	if found := v.initContainers(p); len(found) > 0 {
		return found
	}
	return v.containers(p)
}

// node says that the Pod's node is not there, or does not report.
func (v *view) node(p *corev1.Pod) []finding {
	r := ref(core("Node"), "", p.Spec.NodeName)
	u, sure := v.read(r)
	if u == nil && sure {
		return []finding{of(p, root, event.Cause{
			Code:      "NodeMissing",
			Message:   "is bound to node " + p.Spec.NodeName + ", which no longer exists",
			Next:      kubectl(p.Namespace, "delete", "pod", p.Name, "--force", "--grace-period=0"),
			Risk:      "if its containers still run somewhere, they keep running unknown to Kubernetes",
			BlockedBy: r,
		})}
	}
	node, ok := as[corev1.Node](u)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 || node.Status.Conditions[i].Status == corev1.ConditionTrue {
		return nil
	}
	c := node.Status.Conditions[i]
	return []finding{of(p, root, event.Cause{
		Code:      "NodeNotReady",
		Message:   "runs on node " + node.Name + ", which has not been ready" + v.since(c.LastTransitionTime),
		Evidence:  []string{fmt.Sprintf("node %s: condition Ready=%s (%s): %s", node.Name, c.Status, text.Excerpt(c.Reason), text.Excerpt(c.Message))},
		Next:      kubectl("", "describe", "node", node.Name),
		BlockedBy: r,
	})}
}

// sandbox says that a Pod gets no network or no sandbox on its node.
func (v *view) sandbox(p *corev1.Pod) []finding {
	e := v.warning(p, "FailedCreatePodSandBox", "NetworkNotReady", "FailedPrepareDynamicResources")
	if e == nil {
		return nil
	}
	return []finding{of(p, direct, event.Cause{
		Code:      "SandboxFailed",
		Message:   "its node cannot set it up (" + text.Excerpt(e.Reason) + "), before any container starts",
		Evidence:  append([]string{"on node " + p.Spec.NodeName}, quoted(e)...),
		Next:      kubectl("", "get", "pods", "-n", "kube-system", "-o", "wide", "--field-selector", "spec.nodeName="+p.Spec.NodeName),
		BlockedBy: ref(core("Node"), "", p.Spec.NodeName),
	})}
}

// readinessGates says that another controller has to declare the Pod ready.
func (v *view) readinessGates(p *corev1.Pod) []finding {
	if podCondition(p, corev1.ContainersReady).Status != corev1.ConditionTrue {
		return nil
	}
	var found []finding
	for _, gate := range p.Spec.ReadinessGates {
		c := podCondition(p, gate.ConditionType)
		if c.Status == corev1.ConditionTrue {
			continue
		}
		evidence := "condition " + string(gate.ConditionType) + " was never set"
		if c.Status != "" {
			evidence = fmt.Sprintf("condition %s=%s (%s): %s", gate.ConditionType, c.Status, text.Excerpt(c.Reason), text.Excerpt(c.Message))
		}
		found = append(found, of(p, direct, event.Cause{
			Code:     "ReadinessGate",
			Message:  "all containers are ready, but the readiness gate " + text.Excerpt(string(gate.ConditionType)) + " is not open: its controller has to set that condition",
			Evidence: []string{evidence},
			Next:     kubectl(p.Namespace, "describe", "pod", p.Name),
		}))
	}
	return found
}

// starting is what is left when nothing is wrong: it takes its time.
func (v *view) starting(p *corev1.Pod) []finding {
	c := podCondition(p, corev1.PodScheduled)
	var waiting []string
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting != nil && s.State.Waiting.Reason != "" {
			waiting = append(waiting, text.Excerpt(s.State.Waiting.Reason))
		}
	}
	cause := event.Cause{
		Code:    "Starting",
		Message: "is being started, and nothing is known to be wrong",
		Next:    kubectl(p.Namespace, "describe", "pod", p.Name),
	}
	if waiting = stated(waiting); len(waiting) > 0 {
		cause.Evidence = append(cause.Evidence, "containers wait: "+text.List(waiting, 3))
	}
	cause.Evidence = append(cause.Evidence, "Pod "+p.Name+" has been on node "+p.Spec.NodeName+v.since(c.LastTransitionTime))
	return []finding{of(p, consequence, cause)}
}
