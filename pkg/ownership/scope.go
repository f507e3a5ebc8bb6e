package ownership

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The webhook publishes its scope and coverage in this ConfigMap. Unlike objects in the webhook's
// namespace, it is readable by every user.
const (
	ScopeNamespace = metav1.NamespacePublic
	ScopeName      = "k8sconnect-history"
)

// Scope defines the objects for which the history is known. If nothing was recorded, the scope lets
// readers distinguish "nothing was taken" from "not watched". Kinds are written as Kind or
// Kind.group.
type Scope struct {
	// Kinds maps each tracked kind to the time from which it has been tracked.
	Kinds map[string]time.Time `json:"kinds"`
	// Refused lists the kinds that the webhook is currently not allowed to list or watch.
	Refused []string `json:"refused,omitempty"`
	Never   []string `json:"never,omitempty"`
	// ExcludedKinds and ExcludedNamespaces are excluded by the webhook's configuration.
	ExcludedKinds      []string `json:"excludedKinds,omitempty"`
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`
	// Namespaces maps each namespace that used to be excluded to the time from which it has been
	// tracked.
	Namespaces map[string]time.Time `json:"namespaces,omitempty"`
}

// Omission is the reason why an object is not tracked.
type Omission int

// OmissionNone means that the object is tracked. OmissionKind and OmissionNamespace mean that the
// configuration excludes the kind or the namespace. OmissionRefused means that the webhook is not
// allowed to list or watch the kind.
const (
	OmissionNone Omission = iota
	OmissionNever
	OmissionKind
	OmissionNamespace
	OmissionRefused
	// OmissionUnseen means that the kind is not tracked, either because it cannot be watched or
	// because it is new. The scope does not show which is the case.
	OmissionUnseen
)

// All returns all kinds that are tracked, excluded or refused.
func (s Scope) All() []string {
	all := slices.Concat(slices.Collect(maps.Keys(s.Kinds)), s.Refused, s.ExcludedKinds)
	slices.Sort(all)
	return slices.Compact(all)
}

// After returns the scope with times from the previous scope. A kind that was already tracked keeps
// its time, and a namespace that is no longer excluded is tracked from now on.
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

// Of returns the time since which the objects of a kind have been tracked in a namespace, or the
// reason why they are not tracked. The namespace is empty for cluster-scoped objects.
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
