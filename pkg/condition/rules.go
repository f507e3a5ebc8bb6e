package condition

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Set is what is stated of kinds: in files of the user, in annotations of definitions,
// and in the table that is shipped, in this order. It is safe for concurrent use. A nil
// *Set has the table alone.
type Set struct {
	mu             sync.Mutex
	given, learned map[schema.GroupKind]Rule
}

// Read reads a table of kinds as a user states it. No formula is compiled.
func Read(source string, data []byte) (*Set, error) {
	table, err := readTable(source, "the file "+source, data)
	if err != nil {
		return nil, err
	}
	return &Set{given: table}, nil
}

// Kinds are those of the user's file.
func (r *Set) Kinds() []schema.GroupKind { return slices.Collect(maps.Keys(r.given)) }

// Of returns the rule of a kind.
func (r *Set) Of(gk schema.GroupKind) (Rule, bool) {
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, table := range []map[schema.GroupKind]Rule{r.given, r.learned} {
			if rule, found := table[gk]; found {
				return rule, true
			}
		}
	}
	return Shipped(gk)
}

// Learn takes in what the definition of a kind states by its annotations.
func (r *Set) Learn(gk schema.GroupKind, definition string, annotations map[string]string) {
	formula := func(name string) Formula {
		return Formula{Text: annotations[name], Source: "customresourcedefinition " + definition + ", annotation " + name}
	}
	rule := Rule{
		Group: gk.Group, Kind: gk.Kind, From: "annotations of customresourcedefinition " + definition,
		Ready: formula(ReadyAnnotation), Failed: formula(FailedAnnotation), Message: formula(MessageAnnotation),
	}
	if rule.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.learned == nil {
		r.learned = map[schema.GroupKind]Rule{}
	}
	r.learned[gk] = rule
}
