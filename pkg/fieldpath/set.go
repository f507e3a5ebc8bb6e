package fieldpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Set contains the paths of an owner.
type Set = smd.Set

// NewSet returns a set of the given paths.
func NewSet(paths ...Path) *Set {
	set := smd.NewSet()
	for _, p := range paths {
		Insert(set, p)
	}
	return set
}

// Below returns the part of a set below an element, and false if that part is empty.
func Below(set *Set, pe Element) (*Set, bool) {
	child, ok := set.Children.Get(pe)
	if !ok || child.Empty() {
		return nil, false
	}
	return child, true
}

// Each calls visit for every path in a set, in order. The path is valid only during the call.
func Each(set *Set, visit func(Path)) {
	set.Iterate(func(p smd.Path) { visit(Path(p)) })
}

// Insert adds a path to a set.
func Insert(set *Set, p Path) { set.Insert(smd.Path(p)) }

// Has reports whether a set contains the path itself.
func Has(set *Set, p Path) bool { return set.Has(smd.Path(p)) }

// Touches reports whether a set contains the path, a leaf above it, or any path below it.
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

// Holds reports whether a set contains the path or any path below it.
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

// HoldsAll reports whether a set contains something at or below every field or item of a map or
// list. It is true for an empty map or list and for a scalar.
func HoldsAll(set *Set, value any) bool {
	holds := func(pe Element) bool {
		_, below := Below(set, pe)
		return below || set.Members.Has(pe)
	}
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			if !holds(FieldElement(name)) {
				return false
			}
		}
	case []any:
		items := ItemsOf(set)
		for _, item := range value {
			if pe, _, ok := items.Element(item); !ok || !holds(pe) {
				return false
			}
		}
	}
	return true
}

// BelowEach returns the part of each set below an element. It omits empty parts.
func BelowEach(sets []*Set, pe Element) []*Set {
	var out []*Set
	for _, set := range sets {
		if child, ok := Below(set, pe); ok {
			out = append(out, child)
		}
	}
	return out
}

// Optional is a value that may be absent. A present value may be nil.
type Optional struct {
	Value any
	Has   bool
}

// Present returns an Optional with the value v.
func Present(v any) Optional { return Optional{Value: v, Has: true} }

// FieldOf returns a field of a map. The field is absent if v is not a map.
func FieldOf(v any, name string) Optional {
	m, _ := v.(map[string]any)
	below, has := m[name]
	return Optional{Value: below, Has: has}
}

// Shape is the kind of value at a path, inferred from the elements below the path.
type Shape int

const (
	// Leaf means that there are no elements below the path. The value is atomic or a scalar, or was
	// empty or null when its owner wrote it.
	Leaf Shape = iota
	// Fields means a map whose fields have their own owners.
	Fields
	// Keyed means a list whose items are identified by key.
	Keyed
	// Values means a list whose items are identified by value.
	Values
	// Odd means that the elements are list positions or are of several kinds. The API server never
	// writes such a set.
	Odd
)

// ShapeOf infers the shape of a path from the sets below it. A nil set is empty.
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

// Elements returns the elements directly below a path, sorted and without duplicates.
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

// merge merges two sorted lists of elements without duplicates. It compares each pair only once,
// because comparisons take most of the time in set operations.
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

// FromTree decodes fieldsV1 from its unstructured form, with the same result as [FromJSON].
func FromTree(tree map[string]any) (*Set, error) {
	set := smd.NewSet()
	return set, decodeFields(set, tree)
}

// FromJSON decodes fieldsV1 from JSON, as the API server does.
func FromJSON(text io.Reader) (*Set, error) {
	set := smd.NewSet()
	if err := set.FromJSON(text); err != nil {
		return nil, fmt.Errorf("fieldsV1: %w", err)
	}
	return set, nil
}

// ToTree returns a set as unstructured fieldsV1.
func ToTree(set *Set) (map[string]any, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	return tree, json.Unmarshal(text, &tree)
}

// decodeFields skips unknown keys, as the API server does. If there are no known keys below an
// element, it adds the element itself.
func decodeFields(set *Set, tree map[string]any) error {
	keys := make([]string, 0, len(tree))
	for key := range tree {
		keys = append(keys, key)
	}
	slices.Sort(keys) // Inserting in order is fast.
	for _, key := range keys {
		if key == "." {
			continue
		}
		pe, err := decodeElement(key)
		if errors.Is(err, smd.ErrUnknownPathElementType) {
			continue
		}
		if err != nil {
			return fmt.Errorf("fieldsV1 key %q: %w", key, err)
		}
		below, ok := tree[key].(map[string]any)
		if !ok && tree[key] != nil {
			return fmt.Errorf("fieldsV1 key %q is not a map", key)
		}
		var child Set
		if err := decodeFields(&child, below); err != nil {
			return err
		}
		empty := child.Empty()
		if _, self := below["."]; self || empty {
			set.Members.Insert(pe)
		}
		if !empty {
			*set.Children.Descend(pe) = child
		}
	}
	return nil
}

// decodeElement decodes a key of fieldsV1. Most such keys are field names, and most keys of list
// items are one plain string. decodeElement avoids the slower JSON decoder for both.
func decodeElement(key string) (Element, error) {
	if name, ok := strings.CutPrefix(key, "f:"); ok {
		return Element{FieldName: &name}, nil
	}
	if text, ok := strings.CutPrefix(key, `k:{"`); ok {
		name, v, found := strings.Cut(text, `":"`)
		v, ends := strings.CutSuffix(v, `"}`)
		if found && ends && isPlain(name) && strings.IndexFunc(v, isSpecial) < 0 {
			return smd.KeyElement(value.Field{Name: name, Value: value.NewValueInterface(v)}), nil
		}
	}
	return smd.DeserializePathElement(key)
}

// isSpecial reports whether a character needs escaping in a JSON string.
func isSpecial(r rune) bool { return r == '"' || r == '\\' || r < ' ' || r == utf8.RuneError }
