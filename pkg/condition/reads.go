package condition

import "slices"

// reads is what a condition reads of an object, beside what names its version.
type reads struct {
	// all: everything.
	all bool
	// paths are names of fields from the root, each with all below it.
	paths [][]string
	// specTimes: when the spec was last written, according to managed fields.
	specTimes bool
}

// below returns what is read below a field; false if nothing is.
func (r reads) below(name string) (inner reads, found bool) {
	if r.all {
		return r, true
	}
	for _, path := range r.paths {
		if path[0] == name {
			found = true
			inner.all = inner.all || len(path) == 1
			inner.paths = append(inner.paths, path[1:])
		}
	}
	if inner.all {
		return reads{all: true}, true
	}
	return inner, found
}

// of returns what is read of a value, sharing whatever is read whole. A map that is read in
// part stays even if that part is missing.
func (r reads) of(v any) any {
	m, ok := v.(map[string]any)
	if r.all || !ok {
		return v
	}
	out := map[string]any{}
	for _, path := range outermost(r.paths) {
		keep(out, m, path)
	}
	return out
}

func (r reads) and(other reads) reads {
	return reads{all: r.all || other.all, paths: append(slices.Clip(r.paths), other.paths...), specTimes: r.specTimes || other.specTimes}
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

func meta(obj map[string]any) map[string]any {
	m, _ := obj["metadata"].(map[string]any)
	return m
}
