package tracker

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// scope returns what is tracked now, and what is not. The lock has to be held.
func (t *Tracker) scope() ownership.Scope {
	s := t.state.scope()
	never := leftOut()
	for _, kind := range t.opts.ExcludeKinds {
		if slices.Contains(never, kind) {
			s.Never = append(s.Never, kind.String())
		} else {
			s.ExcludedKinds = append(s.ExcludedKinds, kind.String())
		}
	}
	slices.Sort(s.Never)
	s.Never = slices.Compact(s.Never)
	slices.Sort(s.ExcludedKinds)
	s.ExcludedNamespaces = slices.Sorted(slices.Values(t.opts.ExcludeNamespaces))
	return s
}

// scope returns the kinds that were listed, and those that may not be watched. A kind that was
// watched and is now refused is in both: it resumes where it left off.
func (b *state) scope() ownership.Scope {
	s := ownership.Scope{Kinds: map[string]time.Time{}}
	for _, w := range b.resources {
		kind := schema.GroupKind{Group: w.resource.Group, Kind: w.name}.String()
		if w.at().Version != "" {
			s.Kinds[kind] = time.Time{}
		}
		if w.refused {
			s.Refused = append(s.Refused, kind)
		}
	}
	slices.Sort(s.Refused)
	return s
}
