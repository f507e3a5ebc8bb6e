package condition

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Rules are what is stated of kinds: in files of the user, in annotations of definitions,
// and in the table that is shipped, in this order. It is safe for concurrent use. A nil
// *Rules has the table alone.
type Rules struct {
	mu             sync.Mutex
	given, learned map[schema.GroupKind]KindRule
}

// Kinds are those of the user's file.
func (r *Rules) Kinds() []schema.GroupKind { return slices.Collect(maps.Keys(r.given)) }

// Of returns the rule of a kind.
func (r *Rules) Of(gk schema.GroupKind) (KindRule, bool) {
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, table := range []map[schema.GroupKind]KindRule{r.given, r.learned} {
			if rule, found := table[gk]; found {
				return rule, true
			}
		}
	}
	return Shipped(gk)
}

// Learn takes in what the definition of a kind states by its annotations.
func (r *Rules) Learn(gk schema.GroupKind, definition string, annotations map[string]string) {
	formula := func(name string) Formula {
		return Formula{Text: annotations[name], Source: "customresourcedefinition " + definition + ", annotation " + name}
	}
	rule := KindRule{
		Group: gk.Group, Kind: gk.Kind, From: "annotations of customresourcedefinition " + definition,
		Ready: formula(ReadyAnnotation), Failed: formula(FailedAnnotation), Message: formula(MessageAnnotation),
	}
	if rule.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.learned == nil {
		r.learned = map[schema.GroupKind]KindRule{}
	}
	r.learned[gk] = rule
}
