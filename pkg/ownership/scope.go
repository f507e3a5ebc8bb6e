package ownership

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope says of which objects the history is known. Whoever tracks notes it down, for
// whoever reads a history: where nothing is recorded, only the scope tells "nothing was
// taken" from "nobody looked". Kinds are written as Kind or Kind.group.
type Scope struct {
	// Kinds that are tracked, and since when each is.
	Kinds map[string]time.Time `json:"kinds"`
	// Refused are kinds that may not be listed or watched now.
	Refused []string `json:"refused,omitempty"`
	// Never are kinds that are not tracked, whatever the configuration says.
	Never []string `json:"never,omitempty"`
	// ExcludedKinds and ExcludedNamespaces are left out by the configuration.
	ExcludedKinds      []string `json:"excludedKinds,omitempty"`
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`
	// Namespaces that were excluded once, and since when each is not.
	Namespaces map[string]time.Time `json:"namespaces,omitempty"`
}

// Omission is why an object is not tracked.
type Omission int

// Omissions.
const (
	// OmissionNone: the object is tracked.
	OmissionNone Omission = iota
	// OmissionNever: its kind is not tracked, whatever the configuration says.
	OmissionNever
	OmissionKind
	OmissionNamespace
	// OmissionRefused: its kind may not be listed or watched.
	OmissionRefused
	// OmissionUnseen: its kind is not among those that are tracked, for no reason that
	// was noted down: it cannot be watched, or it is new.
	OmissionUnseen
)

// After returns the scope with what stays true of the one that was noted down before: a
// kind that was tracked already is tracked since then, and a namespace that is not
// excluded any more has no history from before now.
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

// Of returns since when the objects of a kind are tracked in a namespace, empty for
// those that have none; or why they are not.
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
