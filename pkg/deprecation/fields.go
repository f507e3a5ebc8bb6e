package deprecation

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fields returns the deprecated fields that an object of Kubernetes has set, for a server of the
// given release: not those that it has not deprecated yet. If its release is unknown, it returns
// only those without a date.
func Fields(u *unstructured.Unstructured, server Release) []FieldNotice {
	if u == nil {
		return nil
	}
	s := search{server: server}
	room := make([]step, 0, 16)
	for _, rules := range rulesFor(u.GroupVersionKind().GroupKind()) {
		base, at, ok := descend(u.Object, rules.base, room)
		if !ok {
			continue
		}
		for _, r := range rules.rules {
			if r.applies(base, server) {
				s.rule = r
				s.walk(base, r.path, at)
			}
		}
	}
	return s.found
}

// NewFields returns the [Fields] of the new version of an object that the old one had not set.
func NewFields(old, updated *unstructured.Unstructured, server Release) []FieldNotice {
	found := Fields(updated, server)
	if len(found) == 0 {
		return nil // The case of most objects.
	}
	had := map[string]bool{}
	for _, n := range Fields(old, server) {
		had[n.spot] = true
	}
	found = slices.DeleteFunc(found, func(n FieldNotice) bool { return had[n.spot] })
	if old != nil && !warnsOnUpdate(updated.GroupVersionKind().GroupKind()) {
		for i := range found {
			found[i].ServerWarns = false
		}
	}
	return found
}

// warnsOnUpdate reports whether the API server warns of new fields at an update as it does at
// creation: not for Pods and Ingresses, and for a ReplicationController it examines the old
// template.
func warnsOnUpdate(kind schema.GroupKind) bool {
	return kind != schema.GroupKind{Kind: "Pod"} && kind != schema.GroupKind{Kind: "ReplicationController"} && kind.Kind != "Ingress"
}

// rulesFor returns the rules for a kind, at any of its versions.
func rulesFor(kind schema.GroupKind) []ruleSet {
	switch kind {
	case schema.GroupKind{Kind: "Pod"}:
		return []ruleSet{{rules: podRules()}}
	case schema.GroupKind{Kind: "PodTemplate"}:
		return []ruleSet{{base: "template", rules: podRules()}}
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return []ruleSet{{base: "spec.template", rules: podRules()}, {base: "spec", rules: claimTemplateRules()}}
	case schema.GroupKind{Kind: "ReplicationController"},
		schema.GroupKind{Group: "apps", Kind: "Deployment"},
		schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"},
		schema.GroupKind{Group: "extensions", Kind: "Deployment"},
		schema.GroupKind{Group: "extensions", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "extensions", Kind: "DaemonSet"},
		schema.GroupKind{Group: "batch", Kind: "Job"}:
		return []ruleSet{{base: "spec.template", rules: podRules()}}
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return []ruleSet{{base: "spec.jobTemplate.spec.template", rules: podRules()}}
	}
	return []ruleSet{{rules: objectRules(kind)}}
}
