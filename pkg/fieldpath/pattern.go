package fieldpath

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Pattern is a [Path] that may contain wildcards: [*] matches any item of a list or any key of a
// map.
//
//	.webhooks[*].clientConfig.caBundle
//	.metadata.annotations[*]
type Pattern []Element

// ParsePattern parses a pattern as [ParsePath] parses a path. It accepts .* as well as [*].
func ParsePattern(s string) (Pattern, error) {
	p := parser{text: s, wild: true}
	path, err := p.path()
	if err != nil {
		return nil, p.fault(err)
	}
	return Pattern(path), nil
}

func isOpen(pe Element) bool {
	return pe.FieldName == nil && pe.Key == nil && pe.Value == nil && pe.Index == nil
}

// Path returns the pattern as a path, and reports whether it is free of wildcards.
func (p Pattern) Path() (Path, bool) {
	return Path(p), !slices.ContainsFunc(p, isOpen)
}

// String returns the text form. Different patterns have different texts.
func (p Pattern) String() string {
	var b []byte
	for _, pe := range p {
		if isOpen(pe) {
			b = append(b, "[*]"...)
		} else {
			b = appendElement(b, pe)
		}
	}
	return string(b)
}

// Covers reports whether the pattern matches the path or a path above it.
func (p Pattern) Covers(path Path) bool {
	return len(path) >= len(p) && p.Matches(path[:len(p)])
}

// Matches reports whether the pattern matches the path.
func (p Pattern) Matches(path Path) bool {
	if len(p) != len(path) {
		return false
	}
	for i, pe := range p {
		if !isOpen(pe) && !pe.Equals(path[i]) {
			return false
		}
	}
	return true
}

// Touches reports whether the pattern matches the path, a path above it, or a path below it. A key
// in the pattern may omit fields of the key in the path.
func (p Pattern) Touches(path Path) bool {
	for i := range min(len(p), len(path)) {
		if !standsFor(p[i], path[i]) {
			return false
		}
	}
	return true
}

func standsFor(pe, of Element) bool {
	switch {
	case isOpen(pe):
		return true
	case pe.Key == nil || of.Key == nil:
		return pe.Equals(of)
	}
	return !slices.ContainsFunc(*pe.Key, func(f value.Field) bool {
		is, ok := KeyField(of, f.Name)
		return !ok || !Equal(is, f.Value.Unstructured())
	})
}

// Means works like [Pattern.Matches] for a path in an object. As in [SameField], either key may
// omit fields that the other has.
func (p Pattern) Means(object map[string]any, path Path) bool {
	if exact, ok := p.Path(); ok {
		return SameField(object, exact, path)
	}
	return p.Matches(path) || slices.ContainsFunc(p.In(object), func(in Path) bool { return SameField(object, in, path) })
}

// In returns the paths in an object that the pattern matches, in the object's order, with map keys
// sorted. Each path names exactly one value; a list item with the same key as another item is
// omitted.
//
// The keys of list items come from the given field sets of owners. An item that is in no set gets
// the key that such items have in Kubernetes' own kinds.
func (p Pattern) In(object map[string]any, sets ...*Set) []Path {
	var x expansion
	x.walk(nil, p, object, sets)
	return x.found
}

type expansion struct {
	found []Path
}

// walk matches the rest of the pattern below a value. It skips items whose keys occur twice, because such a
// path would not name one value.
func (x *expansion) walk(at Path, rest Pattern, v any, sets []*Set) {
	if len(rest) == 0 {
		x.found = append(x.found, at)
		return
	}
	pe := rest[0]
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if !isOpen(pe) {
			names = slices.DeleteFunc(names, func(name string) bool { return pe.FieldName == nil || *pe.FieldName != name })
		}
		for _, name := range names {
			below := FieldElement(name)
			x.walk(at.Child(below), rest[1:], v[name], BelowEach(sets, below))
		}
	case []any:
		if !isOpen(pe) {
			if i := Find(v, pe); i >= 0 {
				x.walk(at.Child(pe), rest[1:], v[i], BelowEach(sets, pe))
			}
			return
		}
		elements := elementsOf(v, ItemsOf(sets...))
		for i, below := range elements {
			alone := !slices.ContainsFunc(elements[:i], below.Equals) && !slices.ContainsFunc(elements[i+1:], below.Equals)
			if alone && Find(v, below) == i {
				x.walk(at.Child(below), rest[1:], v[i], BelowEach(sets, below))
			}
		}
	}
}

func elementsOf(list []any, items Items) []Element {
	out := make([]Element, len(list))
	for i, item := range list {
		var known bool
		if out[i], known = items.Held(item, list); !known {
			out[i] = likelyElement(item)
		}
	}
	return out
}

// ManifestPaths returns all paths in an object except those of its identity. Parents come first, and
// list items are named by key as in [Path.ByKey].
func ManifestPaths(object map[string]any) []Path {
	return ManifestPathsWithin(object, func(Path) bool { return true })
}

// ManifestPathsWithin works like ManifestPaths. If the within function returns false for a path,
// ManifestPathsWithin omits that path and all paths below it.
func ManifestPathsWithin(object map[string]any, within func(Path) bool) []Path {
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

// EmptyLists returns the paths of the empty lists in an object. No field set contains the path of
// an empty list whose items would have their own owners.
func EmptyLists(object map[string]any) *Set {
	out := NewSet()
	for _, p := range ManifestPaths(object) {
		v, _ := p.Get(object)
		if list, is := v.([]any); is && len(list) == 0 {
			Insert(out, p)
		}
	}
	return out
}
