package condition

// tree is a set of field paths that are read. Below a nil tree everything is
// read; below a name that is not in a tree, nothing.
type tree map[string]tree

// with returns the tree with one more path.
func (t tree) with(path []string) tree {
	if t == nil || len(path) == 0 {
		return nil
	}
	below, found := t[path[0]]
	switch {
	case !found:
		t[path[0]] = tree{}.with(path[1:])
	case below != nil:
		t[path[0]] = below.with(path[1:])
	}
	return t
}

// union returns a tree of all that either reads; it may share with both.
func union(a, b tree) tree {
	if a == nil || b == nil {
		return nil
	}
	out := tree{}
	for name, below := range a {
		out[name] = below
	}
	for name, below := range b {
		if other, found := out[name]; found {
			below = union(other, below)
		}
		out[name] = below
	}
	return out
}

// cut returns of a value what the tree reads, sharing all that is read whole.
// Maps that are read in part stay maps: whether they are there is read too.
func (t tree) cut(value any) any {
	m, ok := value.(map[string]any)
	if t == nil || !ok {
		return value
	}
	out := make(map[string]any, len(t))
	for name, below := range t {
		if v, found := m[name]; found {
			out[name] = below.cut(v)
		}
	}
	return out
}
