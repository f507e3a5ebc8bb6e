package managedfields

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Set is the paths that an owner holds.
type Set = fieldpath.Set

// NewSet returns the set of these paths.
func NewSet(paths ...Path) *Set {
	set := fieldpath.NewSet()
	for _, p := range paths {
		Insert(set, p)
	}
	return set
}

// below returns what a set holds below an element, if it holds anything there.
func below(set *Set, pe fieldpath.PathElement) (*Set, bool) {
	child, ok := set.Children.Get(pe)
	if !ok || child.Empty() {
		return nil, false
	}
	return child, true
}

// Each calls visit with every path of a set, in order. The path is valid during the call
// only.
func Each(set *Set, visit func(Path)) {
	set.Iterate(func(p fieldpath.Path) { visit(Path(p)) })
}

// Insert adds a path to a set.
func Insert(set *Set, p Path) { set.Insert(fieldpath.Path(p)) }

// Has reports whether a set has the path itself.
func Has(set *Set, p Path) bool { return set.Has(fieldpath.Path(p)) }

// holds tells whether a set has the path, a leaf above it, or any path below.
func holds(set *Set, p Path) bool {
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

// holdsIn tells whether a set has the path, or any path below.
func holdsIn(set *Set, p Path) bool {
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

// BelowEach returns what the sets hold below an element, as far as they hold anything there.
func BelowEach(sets []*Set, pe fieldpath.PathElement) []*Set {
	var out []*Set
	for _, set := range sets {
		if child, ok := below(set, pe); ok {
			out = append(out, child)
		}
	}
	return out
}
