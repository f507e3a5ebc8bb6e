package predict_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// random makes objects of testdata/schema.yaml from a seed. The objects are small and have few
// values, so that managers' writes overlap.
type random struct{ *rand.Rand }

func (r random) one(n int) bool { return r.IntN(n) == 0 }

func pick[T any](r random, from ...T) T { return from[r.IntN(len(from))] }

func (r random) text() any { return pick(r, "a", "b", "", "1") }

func (r random) number() any { return pick[any](r, int64(0), int64(1), int64(2), 1.5) }

func (r random) key() string { return pick(r, "a", "b.c", "d") }

// mapOf returns a map, sometimes null.
func (r random) mapOf(value func() any) any {
	if r.one(12) {
		return nil
	}
	m := map[string]any{}
	for range r.IntN(3) {
		m[r.key()] = value()
	}
	return m
}

// listOf returns a list with distinct keys, sometimes null.
func (r random) listOf(item func() any, key func(any) string) any {
	if r.one(12) {
		return nil
	}
	list, seen := []any{}, map[string]bool{}
	for range r.IntN(4) {
		next := item()
		if k := key(next); !seen[k] {
			seen[k] = true
			list = append(list, next)
		}
	}
	return list
}

func whole(v any) string { return fmt.Sprint(v) }

// free returns an arbitrary value for a field that the schema does not describe.
func (r random) free(depth int) any {
	switch r.IntN(7) {
	case 0:
		return nil
	case 1:
		return r.text()
	case 2:
		return r.number()
	case 3:
		if depth > 0 {
			return r.listOf(func() any { return r.free(depth - 1) }, whole)
		}
		return true
	default:
		if depth > 0 {
			return r.mapOf(func() any { return r.free(depth - 1) })
		}
		return false
	}
}

func (r random) port() any {
	port := map[string]any{"port": int64(1 + r.IntN(2))}
	if r.one(2) {
		port["protocol"] = pick(r, "TCP", "UDP")
	}
	if r.one(2) {
		port["name"] = r.text()
	}
	return port
}

func portKey(v any) string {
	port := v.(map[string]any)
	if port["protocol"] == nil {
		return fmt.Sprint(port["port"], "TCP")
	}
	return fmt.Sprint(port["port"], port["protocol"])
}

func (r random) item(depth int) any {
	item := map[string]any{"name": r.text()}
	if r.one(2) {
		item["v"] = r.text()
	}
	if depth > 0 && r.one(3) {
		item["sub"] = r.spec(depth - 1)
	}
	return item
}

func nameOf(v any) string { return fmt.Sprint(v.(map[string]any)["name"]) }

func (r random) spec(depth int) map[string]any {
	texts := func() any { return r.mapOf(r.text) }
	fields := []struct {
		name  string
		value func() any
	}{
		{"s", r.text},
		{"num", r.number},
		{"u", func() any { return pick(r, nil, r.text(), r.number()) }},
		{"atomicMap", texts},
		{"selector", texts},
		{"granular", texts},
		{"atomicList", func() any { return r.listOf(r.text, whole) }},
		{"set", func() any { return r.listOf(r.text, whole) }},
		{"nums", func() any { return r.listOf(r.number, whole) }},
		{"ports", func() any { return r.listOf(r.port, portKey) }},
		{"list", func() any { return r.listOf(func() any { return r.item(depth) }, nameOf) }},
		{"nested", func() any { return r.mapOf(func() any { return r.spec(depth - 1) }) }},
		{"free", func() any { return r.free(2) }},
	}
	spec := map[string]any{}
	for _, f := range fields {
		if r.one(4) && (depth > 0 || f.name != "nested") {
			spec[f.name] = f.value()
		}
	}
	return spec
}

func (r random) object() map[string]any {
	metadata := map[string]any{"name": "x"}
	if r.one(3) {
		metadata["labels"] = r.mapOf(r.text)
	}
	object := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": metadata}
	if !r.one(10) {
		object["spec"] = r.spec(2)
	}
	return object
}

// edit changes some of an object's fields and removes others.
func (r random) edit(object map[string]any) map[string]any {
	fresh := r.object()
	spec, ok := runtime.DeepCopyJSON(object)["spec"].(map[string]any)
	others, okToo := fresh["spec"].(map[string]any)
	if !ok || !okToo {
		return fresh
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if r.one(2) {
			spec[name] = others[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		if r.one(6) {
			delete(spec, name)
		}
	}
	fresh["spec"] = spec
	return fresh
}
