package ownership

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The ConfigMap in which the webhook publishes its scope and coverage. Every user may read it,
// unlike objects in the webhook's namespace.
const (
	ScopeNamespace = metav1.NamespacePublic
	ScopeName      = "k8sconnect-history"
)

// Scope says for which objects the history is known. If nothing is recorded, readers need it to
// distinguish "nothing was taken" from "not watched". Kinds are written as Kind or Kind.group.
type Scope struct {
	// Kinds are the tracked kinds, and since when they are tracked.
	Kinds map[string]time.Time `json:"kinds"`
	// Refused lists kinds that we may not list or watch at present.
	Refused []string `json:"refused,omitempty"`
	// Never are kinds that are never tracked.
	Never []string `json:"never,omitempty"`
	// ExcludedKinds and ExcludedNamespaces are excluded by the configuration.
	ExcludedKinds      []string `json:"excludedKinds,omitempty"`
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`
	// Namespaces were excluded once, and are tracked since the given time.
	Namespaces map[string]time.Time `json:"namespaces,omitempty"`
}

// Omission is why an object is not tracked.
type Omission int

const (
	// OmissionNone: the object is tracked.
	OmissionNone Omission = iota
	// OmissionNever: its kind is never tracked.
	OmissionNever
	// OmissionKind: the configuration excludes its kind.
	OmissionKind
	// OmissionNamespace: the configuration excludes its namespace.
	OmissionNamespace
	// OmissionRefused: the webhook may not list or watch its kind.
	OmissionRefused
	// OmissionUnseen: its kind is not tracked for an unknown reason: it cannot be watched, or is
	// new.
	OmissionUnseen
)

// All returns all kinds that are tracked, excluded or refused.
func (s Scope) All() []string {
	all := slices.Concat(slices.Collect(maps.Keys(s.Kinds)), s.Refused, s.ExcludedKinds)
	slices.Sort(all)
	return slices.Compact(all)
}

// After returns the scope with the times of the previous one: a kind that was tracked keeps its
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

// Of returns since when the objects of a kind are tracked in a namespace (empty for cluster-scoped
// objects), or why they are not.
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
