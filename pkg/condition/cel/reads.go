package cel

import "slices"

// Reads is what a condition reads of an object, beside what names its version.
type Reads struct {
	// All: everything.
	All bool
	// Paths are field names from the root, each including everything below it.
	Paths [][]string
	// SpecTimes: when the spec was last written, according to managed fields.
	SpecTimes bool
}

// Below returns what is read below a field; false if nothing is.
func (r Reads) Below(name string) (inner Reads, found bool) {
	if r.All {
		return r, true
	}
	for _, path := range r.Paths {
		if path[0] == name {
			found = true
			inner.All = inner.All || len(path) == 1
			inner.Paths = append(inner.Paths, path[1:])
		}
	}
	if inner.All {
		return Reads{All: true}, true
	}
	return inner, found
}

// Of returns what is read of a value, sharing whatever is read whole. A map that is read in
// part stays even if that part is missing.
func (r Reads) Of(v any) any {
	m, ok := v.(map[string]any)
	if r.All || !ok {
		return v
	}
	out := map[string]any{}
	for _, path := range outermost(r.Paths) {
		keep(out, m, path)
	}
	return out
}

// And returns what is read here or there.
func (r Reads) And(other Reads) Reads {
	return Reads{All: r.All || other.All, Paths: append(slices.Clip(r.Paths), other.Paths...), SpecTimes: r.SpecTimes || other.SpecTimes}
}

// outermost returns the paths without those that are below another.
func outermost(paths [][]string) [][]string {
	var out [][]string
	for _, p := range paths {
		covered := slices.ContainsFunc(paths, func(q []string) bool { return len(q) < len(p) && slices.Equal(q, p[:len(q)]) })
		known := slices.ContainsFunc(out, func(q []string) bool { return slices.Equal(q, p) })
		if !covered && !known {
			out = append(out, p)
		}
	}
	return out
}

// keep copies what is at the path, as far as the object has it. No path may be
// above another one that was kept before.
func keep(out, obj map[string]any, path []string) {
	v, ok := obj[path[0]]
	if !ok {
		return
	}
	below, isMap := v.(map[string]any)
	if len(path) == 1 || !isMap {
		out[path[0]] = v
		return
	}
	inner, ok := out[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		out[path[0]] = inner
	}
	keep(inner, below, path[1:])
}

// Meta returns the metadata of an object.
func Meta(obj map[string]any) map[string]any {
	m, _ := obj["metadata"].(map[string]any)
	return m
}
