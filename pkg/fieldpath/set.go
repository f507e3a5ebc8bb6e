package fieldpath

import (
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Set is the paths that an owner holds.
type Set = smd.Set

// NewSet returns the set of these paths.
func NewSet(paths ...Path) *Set {
	set := smd.NewSet()
	for _, p := range paths {
		Insert(set, p)
	}
	return set
}

// Below returns what a set holds below an element, or nil.
func Below(set *Set, pe Element) (*Set, bool) {
	child, ok := set.Children.Get(pe)
	if !ok || child.Empty() {
		return nil, false
	}
	return child, true
}

// Each calls visit with every path of a set, in order. The path is valid during the call
// only.
func Each(set *Set, visit func(Path)) {
	set.Iterate(func(p smd.Path) { visit(Path(p)) })
}

// Insert adds a path to a set.
func Insert(set *Set, p Path) { set.Insert(smd.Path(p)) }

// Has reports whether a set has the path itself.
func Has(set *Set, p Path) bool { return set.Has(smd.Path(p)) }

// Touches reports whether a set has the path, a leaf above it, or any path below.
func Touches(set *Set, p Path) bool {
	for i, pe := range p {
		child, below := set.Children.Get(pe)
		if set.Members.Has(pe) && (i == len(p)-1 || !below) {
			return true
		}
		if !below {
			return false
		}
		set = child
	}
	return len(p) > 0 && !set.Empty()
}

// Holds reports whether a set has the path, or any path below.
func Holds(set *Set, p Path) bool {
	for i, pe := range p {
		if i == len(p)-1 && set.Members.Has(pe) {
			return true
		}
		child, below := set.Children.Get(pe)
		if !below {
			return false
		}
		set = child
	}
	return len(p) > 0 && !set.Empty()
}

// BelowEach returns what the sets hold below an element, leaving out those that hold
// nothing there.
func BelowEach(sets []*Set, pe Element) []*Set {
	var out []*Set
	for _, set := range sets {
		if child, ok := Below(set, pe); ok {
			out = append(out, child)
		}
	}
	return out
}

// Optional is a value or its absence: nil is a value, too.
type Optional struct {
	Value any
	Has   bool
}

// Present returns an Optional that holds v.
func Present(v any) Optional { return Optional{Value: v, Has: true} }

// FieldOf returns the value of a map under a name; absent if v is no map.
func FieldOf(v any, name string) Optional {
	m, _ := v.(map[string]any)
	below, has := m[name]
	return Optional{Value: below, Has: has}
}
