package fieldpath

import (
	"maps"
	"slices"
)

// StatedPaths returns the paths of everything that an object states, parents first,
// with keys as [Path.ByKey] has them, without the object's identity.
func StatedPaths(object map[string]any) []Path {
	return StatedPathsWithin(object, func(Path) bool { return true })
}

// StatedPathsWithin is StatedPaths of a part of the object: of the paths that within
// leaves out, and of what is below them, it returns none.
func StatedPathsWithin(object map[string]any, within func(Path) bool) []Path {
	var out []Path
	var walk func(p Path, v any)
	below := func(p Path, pe Element, v any) {
		next := p.Child(pe)
		if (!IsIdentity(next) || len(next) == 1 && *pe.FieldName == "metadata") && within(next) {
			out = append(out, next)
			walk(next, v)
		}
	}
	walk = func(p Path, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				below(p, Element{FieldName: &name}, v[name])
			}
		case []any:
			for _, item := range v {
				below(p, likelyElement(item), item)
			}
		}
	}
	walk(nil, object)
	return out
}

// EmptyLists returns the paths at which an object states an empty list. A list that is
// owned item by item leaves no trace of that in any field set.
func EmptyLists(object map[string]any) *Set {
	out := NewSet()
	for _, p := range StatedPaths(object) {
		if v, _ := p.Get(object); isList(v) && IsEmpty(v) {
			Insert(out, p)
		}
	}
	return out
}

func isList(v any) bool {
	_, is := v.([]any)
	return is
}
