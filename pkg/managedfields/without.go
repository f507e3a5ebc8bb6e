package managedfields

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Without returns a copy of the object without what is at the paths, or nil if
// the object has nothing at any of them. Parents stay, empty or not, except those
// in emptied (see [Emptied]), which go with all that is left in them: the defaults
// that belong to nobody. The object is not changed.
func Without(u *unstructured.Unstructured, paths []Path, emptied ...Path) *unstructured.Unstructured {
	var out *unstructured.Unstructured
	for _, p := range paths {
		if _, there := p.Get(u.Object); !there || len(p) == 0 {
			continue
		}
		if out == nil {
			out = u.DeepCopy()
		}
		without(out.Object, p)
	}
	if out == nil {
		return nil
	}
	for _, p := range emptied {
		if _, there := p.Get(out.Object); there {
			without(out.Object, p)
		}
	}
	return out
}

// without removes one path from a value, and returns what the value is then: a
// list that lost an item is another slice.
func without(v any, p Path) any {
	switch v := v.(type) {
	case map[string]any:
		if p[0].FieldName == nil {
			return v
		}
		name := *p[0].FieldName
		if len(p) == 1 {
			delete(v, name)
		} else if below, ok := v[name]; ok {
			v[name] = without(below, p[1:])
		}
		return v
	case []any:
		i := find(v, fieldpath.PathElement(p[0]))
		switch {
		case i < 0:
		case len(p) == 1:
			return slices.Delete(v, i, i+1)
		default:
			v[i] = without(v[i], p[1:])
		}
		return v
	default:
		return v
	}
}
