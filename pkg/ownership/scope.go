package ownership

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The webhook publishes its scope and coverage in this ConfigMap. Every user may read it, in
// contrast to objects in the webhook's namespace.
const (
	ScopeNamespace = metav1.NamespacePublic
	ScopeName      = "k8sconnect-history"
)

// Scope says for which objects the history is known. If nothing is recorded, readers need it to
// distinguish "nothing was taken" from "not watched". Kinds are written as Kind or Kind.group.
type Scope struct {
	// Kinds maps each tracked kind to the time since which it is tracked.
	Kinds map[string]time.Time `json:"kinds"`
	// Refused are kinds that the webhook may not list or watch at present.
	Refused []string `json:"refused,omitempty"`
	Never   []string `json:"never,omitempty"`
	// ExcludedKinds and ExcludedNamespaces are excluded by the configuration.
	ExcludedKinds      []string `json:"excludedKinds,omitempty"`
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`
	// Namespaces maps each namespace that was excluded earlier to the time since which it is
	// tracked.
	Namespaces map[string]time.Time `json:"namespaces,omitempty"`
}

// Omission is the reason why an object is not tracked.
type Omission int

// An object with OmissionNone is tracked. The configuration excludes kinds and namespaces. A kind is
// refused if the webhook may not list or watch it.
const (
	OmissionNone Omission = iota
	OmissionNever
	OmissionKind
	OmissionNamespace
	OmissionRefused
	// OmissionUnseen means that its kind is not tracked for an unknown reason: it cannot be
	// watched, or is new.
	OmissionUnseen
)

// All returns all kinds that are tracked, excluded or refused.
func (s Scope) All() []string {
	all := slices.Concat(slices.Collect(maps.Keys(s.Kinds)), s.Refused, s.ExcludedKinds)
	slices.Sort(all)
	return slices.Compact(all)
}

// After returns the scope with times from the previous scope. A kind that was tracked keeps its
// time, and a namespace that is no longer excluded is tracked from now on.
func (s Scope) After(before Scope, now time.Time) Scope {
	now = now.UTC().Truncate(time.Second)
	kinds := make(map[string]time.Time, len(s.Kinds))
	for kind := range s.Kinds {
		kinds[kind] = now
		if since, known := before.Kinds[kind]; known {
			kinds[kind] = since
		}
	}
	s.Kinds = kinds
	namespaces := map[string]time.Time{}
	maps.Copy(namespaces, before.Namespaces)
	for _, name := range before.ExcludedNamespaces {
		namespaces[name] = now
	}
	for _, name := range s.ExcludedNamespaces {
		delete(namespaces, name)
	}
	s.Namespaces = namespaces
	return s
}

// Of returns the time since which the objects of a kind are tracked in a namespace, or the reason
// why they are not. The namespace is empty for cluster-scoped objects.
func (s Scope) Of(kind schema.GroupKind, namespace string) (since time.Time, why Omission) {
	name := kind.String()
	since, tracked := s.Kinds[name]
	switch {
	case slices.Contains(s.Never, name):
		return time.Time{}, OmissionNever
	case slices.Contains(s.ExcludedKinds, name):
		return time.Time{}, OmissionKind
	case namespace != "" && slices.Contains(s.ExcludedNamespaces, namespace):
		return time.Time{}, OmissionNamespace
	case slices.Contains(s.Refused, name):
		return time.Time{}, OmissionRefused
	case !tracked:
		return time.Time{}, OmissionUnseen
	}
	if again := s.Namespaces[namespace]; again.After(since) {
		since = again
	}
	return since, OmissionNone
}
