package managedfields

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// shape is what the elements right below a path tell of the value there.
type shape int

const (
	// leaf: nothing below. An atomic value, a scalar, or what was empty or null
	// when its owner wrote it.
	leaf shape = iota
	fields
	keyed
	values
	// odd: list positions, or elements of several sorts. No API server writes it.
	odd
)

// shapeOf reads the shape off the sets of paths below one path; nil is none.
func shapeOf(sets ...*Set) shape {
	result := leaf
	see := func(pe fieldpath.PathElement) {
		s := odd
		switch {
		case pe.FieldName != nil:
			s = fields
		case pe.Key != nil:
			s = keyed
		case pe.Value != nil:
			s = values
		}
		if result == leaf {
			result = s
		} else if result != s {
			result = odd
		}
	}
	for _, set := range sets {
		if set != nil {
			set.Members.Iterate(see)
			set.Children.Iterate(see)
		}
	}
	return result
}

// elements returns the elements right below a path, sorted, each once.
func elements(sets ...*Set) []fieldpath.PathElement {
	var out []fieldpath.PathElement
	for _, set := range sets {
		if set == nil {
			continue
		}
		members := make([]fieldpath.PathElement, 0, set.Members.Size())
		set.Members.Iterate(func(pe fieldpath.PathElement) { members = append(members, pe) })
		var parents []fieldpath.PathElement
		set.Children.Iterate(func(pe fieldpath.PathElement) { parents = append(parents, pe) })
		out = merge(out, merge(members, parents))
	}
	return out
}

// merge merges two sorted lists of elements. To compare keys is what takes time
// with sets, so it is done as seldom as can be.
func merge(a, b []fieldpath.PathElement) []fieldpath.PathElement {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]fieldpath.PathElement, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch order := a[0].Compare(b[0]); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
