package fieldpath

import (
	"slices"
)

// Delete removes one path from a value and returns the new value: a list that lost
// an item is another slice.
func Delete(v any, p Path) any {
	switch v := v.(type) {
	case map[string]any:
		if p[0].FieldName == nil {
			return v
		}
		name := *p[0].FieldName
		if len(p) == 1 {
			delete(v, name)
		} else if below, ok := v[name]; ok {
			v[name] = Delete(below, p[1:])
		}
		return v
	case []any:
		i := Find(v, Element(p[0]))
		switch {
		case i < 0:
		case len(p) == 1:
			return slices.Delete(v, i, i+1)
		default:
			v[i] = Delete(v[i], p[1:])
		}
		return v
	default:
		return v
	}
}

// Put sets the value at a path whose parents exist.
func Put(v any, p Path, to any) {
	switch v := v.(type) {
	case map[string]any:
		switch {
		case p[0].FieldName == nil:
		case len(p) == 1:
			v[*p[0].FieldName] = to
		default:
			Put(v[*p[0].FieldName], p[1:], to)
		}
	case []any:
		if i := Find(v, p[0]); i >= 0 && len(p) > 1 {
			Put(v[i], p[1:], to)
		}
	}
}
