package fieldpath

import (
	"slices"
	"strconv"

	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Positional reports whether the path names a list item by its position, which no
// owner does (edge case 4).
func (p Path) Positional() bool {
	return slices.ContainsFunc(p, func(pe Element) bool { return pe.Index != nil })
}

// ByKey returns a positional path with the keys of the items at its positions in an
// object, and whether they have keys. Without a schema, it assumes the key that
// such an item has in Kubernetes' own kinds.
func (p Path) ByKey(object map[string]any) (Path, bool) {
	var v any = object
	var out Path
	for _, pe := range p {
		switch c := v.(type) {
		case map[string]any:
			if pe.Index != nil { // A key that looks like a number: .data[0]
				name := strconv.Itoa(*pe.Index)
				pe = Element{FieldName: &name}
			}
		case []any:
			if i := pe.Index; i != nil && *i >= 0 && *i < len(c) {
				pe = likelyElement(c[*i])
			}
		}
		out = out.Child(pe)
		var ok bool
		if v, ok = (Path{pe}).GetIn(v); !ok {
			return nil, false
		}
	}
	return out, true
}

// GetIn returns the value at the path in any value.
func (p Path) GetIn(v any) (any, bool) {
	const field = "v"
	return append(Field(field), p...).Get(map[string]any{field: v})
}

// likelyElement returns the element by which an owner would hold a list item, as
// far as that can be guessed without a schema.
func likelyElement(item any) Element {
	m, ok := item.(map[string]any)
	if !ok {
		return smd.ValueElement(value.NewValueInterface(item))
	}
	for _, name := range []string{"containerPort", "port", "mountPath", "devicePath", "name", "key", "type", "ip", "uid"} {
		v, has := m[name]
		if !has || IsContainer(v) {
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
		return Element{Key: &key}
	}
	return Element{Key: &value.FieldList{}}
}
