package managedfields

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/spelling"
)

// Positional tells whether the path names an item of a list by its position, as
// no owner does (edge case 4).
func (p Path) Positional() bool {
	return slices.ContainsFunc(p, func(pe fieldpath.PathElement) bool { return pe.Index != nil })
}

// ByKey returns a positional path with the keys of the items that stand at its
// positions in an object, and whether it has any. Without a schema at hand, the
// key is the one that such an item has in Kubernetes' own kinds.
func (p Path) ByKey(object map[string]any) (Path, bool) {
	var v any = object
	var out Path
	for _, pe := range p {
		switch c := v.(type) {
		case map[string]any:
			if pe.Index != nil { // A key that looks like a number: .data[0]
				name := strconv.Itoa(*pe.Index)
				pe = fieldpath.PathElement{FieldName: &name}
			}
		case []any:
			if i := pe.Index; i != nil && *i >= 0 && *i < len(c) {
				pe = likelyElement(c[*i])
			}
		}
		out = out.child(pe)
		var ok bool
		if v, ok = (Path{pe}).in(v); !ok {
			return nil, false
		}
	}
	return out, true
}

// in returns the value at the path in any value.
func (p Path) in(v any) (any, bool) {
	const field = "v"
	return append(Field(field), p...).Get(map[string]any{field: v})
}

// StatedPaths returns the paths of all that an object states, parents before what
// is in them, with keys as [Path.ByKey] has them. What the object is called is not
// among them.
func StatedPaths(object map[string]any) []Path {
	var out []Path
	var walk func(p Path, v any)
	below := func(p Path, pe fieldpath.PathElement, v any) {
		if next := p.child(pe); !isIdentity(next) || len(next) == 1 && *pe.FieldName == "metadata" {
			out = append(out, next)
			walk(next, v)
		}
	}
	walk = func(p Path, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				below(p, fieldpath.PathElement{FieldName: &name}, v[name])
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
// owned by item leaves no trace of that in any field set.
func EmptyLists(object map[string]any) *Set {
	out := fieldpath.NewSet()
	for _, p := range StatedPaths(object) {
		if v, _ := p.Get(object); isList(v) && isEmpty(v) {
			out.Insert(fieldpath.Path(p))
		}
	}
	return out
}

func isList(v any) bool {
	_, is := v.([]any)
	return is
}

// likelyElement returns the element under which an owner would hold a list item,
// as far as that can be told without a schema.
func likelyElement(item any) fieldpath.PathElement {
	m, ok := item.(map[string]any)
	if !ok {
		return fieldpath.ValueElement(value.NewValueInterface(item))
	}
	for _, name := range []string{"containerPort", "port", "mountPath", "devicePath", "name", "key", "type", "ip", "uid"} {
		v, has := m[name]
		if !has || isContainer(v) {
			continue
		}
		key := value.FieldList{{Name: name, Value: value.NewValueInterface(v)}}
		if name == "containerPort" || name == "port" {
			protocol, stated := m["protocol"]
			if !stated {
				protocol = "TCP"
			}
			key = append(key, value.Field{Name: "protocol", Value: value.NewValueInterface(protocol)})
		}
		return fieldpath.PathElement{Key: &key}
	}
	return fieldpath.PathElement{Key: &value.FieldList{}}
}

// Nearest returns the one of the candidates that somebody who wrote p most
// likely meant, and whether any is near: p with another key, or with elements
// left out, or with a slip of the pen. What p lies in is not near.
func (p Path) Nearest(candidates []Path) (Path, bool) {
	const step, far = 100, 1 << 20 // to leave out an element costs more than any text differs
	best, least := Path(nil), far
	text := p.String()
	for _, c := range candidates {
		if p.HasPrefix(c) {
			continue
		}
		d := spelling.Edits(text, c.String())
		cost := far
		if skipped := p.skips(c); skipped >= 0 {
			cost = step*skipped + min(d, step-1)
		} else if d <= max(2, len(text)/8) {
			cost = step * d
		}
		if cost < least {
			best, least = c, cost
		}
	}
	return best, least < far
}

// skips returns how many elements of c were left out in p, whatever the keys of
// list items, or -1 if that alone does not make p of c.
func (p Path) skips(c Path) int {
	at := 0
	for _, pe := range p {
		for at < len(c) && !alike(pe, c[at]) {
			at++
		}
		if at == len(c) {
			return -1
		}
		at++
	}
	if at < len(c) { // What lies below is not meant.
		return -1
	}
	return len(c) - len(p)
}

func alike(a, b fieldpath.PathElement) bool {
	if a.FieldName == nil || b.FieldName == nil {
		return a.FieldName == nil && b.FieldName == nil
	}
	return strings.EqualFold(*a.FieldName, *b.FieldName)
}
