package fieldpath

// Shape is what the elements directly below a path reveal about the value there.
type Shape int

const (
	// Leaf has nothing below: an atomic value, a scalar, or what was empty or null when its
	// owner wrote it.
	Leaf Shape = iota
	// Fields is a map whose fields have owners of their own.
	Fields
	// Keyed is a list whose items are identified by a key.
	Keyed
	// Values is a list whose items are identified by their value.
	Values
	// Odd has list positions below it, or elements of several sorts. No API server writes
	// it.
	Odd
)

// ShapeOf derives the shape from the sets of paths below one path; nil is none.
func ShapeOf(sets ...*Set) Shape {
	result := Leaf
	see := func(pe Element) {
		s := Odd
		switch {
		case pe.FieldName != nil:
			s = Fields
		case pe.Key != nil:
			s = Keyed
		case pe.Value != nil:
			s = Values
		}
		if result == Leaf {
			result = s
		} else if result != s {
			result = Odd
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

// Elements returns the elements directly below a path, sorted, without duplicates.
func Elements(sets ...*Set) []Element {
	var out []Element
	for _, set := range sets {
		if set == nil {
			continue
		}
		members := make([]Element, 0, set.Members.Size())
		set.Members.Iterate(func(pe Element) { members = append(members, pe) })
		var parents []Element
		set.Children.Iterate(func(pe Element) { parents = append(parents, pe) })
		out = merge(out, merge(members, parents))
	}
	return out
}

// merge merges two sorted lists of elements. Comparing keys dominates the cost of sets, so
// merge compares as few as it can.
func merge(a, b []Element) []Element {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]Element, 0, max(len(a), len(b)))
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
