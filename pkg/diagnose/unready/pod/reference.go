package pod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// reference is an object without which a Pod cannot start.
type reference struct {
	ref object.Ref
	by  string // who needs it
}

// references returns the ConfigMaps, Secrets and claims that a Pod names and does
// not call optional, each once.
func references(namespace string, spec *corev1.PodSpec) []reference {
	var out []reference
	add := func(kind, name, by string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			out = append(out, reference{rule.Ref(rule.Core(kind), namespace, name), by})
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
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, c := range containers {
			ofContainer(c, add)
		}
	}
	return once(out)
}

// ofContainer adds the objects from which a container's environment comes.
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

func once(references []reference) []reference {
	seen := map[object.Key]bool{}
	var out []reference
	for _, r := range references {
		if !seen[r.ref.Key()] {
			seen[r.ref.Key()] = true
			out = append(out, r)
		}
	}
	return out
}

// missing says for which ConfigMaps and Secrets a Pod that has not started waits.
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
