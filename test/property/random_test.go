package property_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// random generates values for a schema, from few alternatives, so that managers' writes overlap.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 0))} }

func (r random) one(n int) bool { return r.IntN(n) == 0 }

func pick[T any](r random, from ...T) T { return from[r.IntN(len(from))] }

func (r random) text() any { return pick(r, "a", "b", "", "1") }

func (r random) key() string { return pick(r, "a", "b.c", "d") }

// quantity returns one of few quantities, in one of several spellings.
func (r random) quantity() any {
	return pick[any](r, "1", int64(1), "1000m", "1Gi", "1024Mi", int64(0), "0", "2", 0.5, "500m")
}

// value generates a value for a schema. A field is set once in rare times.
func (r random) value(s *structuralschema.Structural, rare int) any {
	if s.Nullable && r.one(6) {
		return nil
	}
	switch {
	case s.XIntOrString:
		return r.quantity()
	case s.Type == "integer":
		return pick[any](r, int64(0), int64(1), int64(2))
	case s.Type == "string":
		return r.text()
	case s.Type == "array":
		return r.list(s, rare)
	case s.Type == "object":
		return r.object(s, rare)
	default:
		return r.free(2)
	}
}

func (r random) object(s *structuralschema.Structural, rare int) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		required := s.ValueValidation != nil && slices.Contains(s.ValueValidation.Required, name)
		if required || r.one(rare) {
			out[name] = r.value(&property, max(2, rare/2))
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		for range r.IntN(3) {
			out[r.key()] = r.value(s.AdditionalProperties.Structural, 2)
		}
	}
	if s.XPreserveUnknownFields {
		for range r.IntN(3) {
			out[pick(r, "a", "image", "keep")] = r.free(2)
		}
	}
	return out
}

// free generates a value where the schema allows anything.
func (r random) free(depth int) any {
	switch {
	case r.one(8):
		return nil
	case depth == 0 || r.one(3):
		return pick(r, r.text(), r.quantity())
	case r.one(4):
		list := []any{}
		for range r.IntN(3) {
			list = append(list, r.free(depth-1))
		}
		return list
	}
	out := map[string]any{}
	for range r.IntN(3) {
		out[pick(r, "tag", "x", "y")] = r.free(depth - 1)
	}
	return out
}

// list generates a list without duplicate keys.
func (r random) list(s *structuralschema.Structural, rare int) []any {
	list, seen := []any{}, map[string]bool{}
	for range r.IntN(4) {
		item := r.value(s.Items, rare)
		if m, ok := item.(map[string]any); ok && len(m) == 0 {
			m["v"] = r.text() // the server fails on items without fields
		}
		if k := keyOf(s, item); s.XListType == nil || *s.XListType == "atomic" || !seen[k] {
			seen[k] = true
			list = append(list, item)
		}
	}
	return list
}

// keyOf returns a list item's key as the server does, with defaults.
func keyOf(s *structuralschema.Structural, item any) string {
	m, ok := item.(map[string]any)
	if !ok {
		return fmt.Sprint(item)
	}
	var key []any
	for _, name := range s.XListMapKeys {
		v, ok := m[name]
		if !ok {
			v = s.Items.Properties[name].Default.Object
		}
		key = append(key, v)
	}
	return fmt.Sprint(key)
}

// manifest generates an object.
func (r random) manifest(s *structuralschema.Structural, version string) map[string]any {
	spec := s.Properties["spec"]
	out := map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Thing",
		"metadata": map[string]any{"name": "x", "namespace": "shop"},
	}
	if r.one(4) {
		out["metadata"].(map[string]any)["labels"] = map[string]any{r.key(): r.text()}
	}
	if !r.one(20) {
		out["spec"] = r.object(&spec, 4)
	}
	return out
}

// edit changes some fields anywhere in an object, and removes some.
func (r random) edit(s *structuralschema.Structural, object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	spec, ok := out["spec"].(map[string]any)
	if !ok {
		return r.manifest(s, "v1")
	}
	schema := s.Properties["spec"]
	for range 1 + r.IntN(3) {
		r.editIn(&schema, spec)
	}
	return out
}

func (r random) editIn(s *structuralschema.Structural, m map[string]any) {
	names := slices.Sorted(maps.Keys(m))
	property := func(name string) *structuralschema.Structural {
		if p, ok := s.Properties[name]; ok {
			return &p
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
			return s.AdditionalProperties.Structural
		}
		return &structuralschema.Structural{Extensions: structuralschema.Extensions{XPreserveUnknownFields: true}}
	}
	if len(names) == 0 || r.one(4) { // a new value
		fresh := r.object(s, 4)
		for _, name := range slices.Sorted(maps.Keys(fresh)) {
			m[name] = fresh[name]
		}
		return
	}
	name := names[r.IntN(len(names))]
	below := property(name)
	switch v := m[name].(type) {
	case map[string]any:
		if !r.one(3) {
			r.editIn(below, v)
			return
		}
	case []any:
		if i := r.IntN(len(v) + 1); i < len(v) && below.Items != nil && !r.one(3) {
			if item, ok := v[i].(map[string]any); ok {
				key := keyOf(below, item)
				r.editIn(below.Items, item)
				if keyOf(below, item) != key || len(item) == 0 { // the schema may forbid duplicate keys
					m[name] = v[:i]
				}
				return
			}
			m[name] = slices.Delete(slices.Clone(v), i, i+1)
			return
		}
	}
	if r.one(3) {
		delete(m, name)
		return
	}
	m[name] = r.value(below, 3)
}

// reorder moves items of keyed lists and sets.
func (r random) reorder(s *structuralschema.Structural, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, known := s.Properties[name]
			if !known && s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
				below = *s.AdditionalProperties.Structural
			}
			out[name] = r.reorder(&below, v[name])
		}
		return out
	case []any:
		if s.Items == nil || s.XListType == nil || *s.XListType == "atomic" {
			return v
		}
		out := make([]any, len(v))
		for i, at := range r.Perm(len(v)) {
			out[i] = r.reorder(s.Items, v[at])
		}
		return out
	default:
		return v
	}
}
