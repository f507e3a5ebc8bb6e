// Package fieldpath names fields as managed fields do: list items by key, never by position. A
// [Path] names one field. A [Set] contains the paths of an owner. [Items] finds the list item that
// an element names. The package needs no schema and sends no requests.
package fieldpath

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Path names one field of an object: list items by key, never by position. [ParsePath]
// reads its text form:
//
//	.spec.template.spec.containers[name="app"].image
//	.metadata.labels["app.kubernetes.io/name"]
//	.metadata.finalizers[="example.com/cleanup"]
//	.spec.ports[port=53,protocol="UDP"].targetPort
type Path smd.Path

// Field returns the path of a field that is inside maps only, not inside list items.
func Field(names ...string) Path {
	p := make(Path, len(names))
	for i, name := range names {
		p[i] = FieldElement(name)
	}
	return p
}

// Item returns the path of a list item whose key is a single string field.
func (p Path) Item(key, text string) Path {
	return p.Child(smd.KeyElement(value.Field{Name: key, Value: value.NewValueInterface(text)}))
}

// String returns the text form. Different paths have different texts.
func (p Path) String() string {
	var b []byte
	for _, pe := range p {
		b = appendElement(b, pe)
	}
	return string(b)
}

// Unquoted returns the path in the API server's notation. Because it has no quotes, different paths
// may have the same text.
func (p Path) Unquoted() string { return smd.Path(p).String() }

// Equal reports whether both paths name the same field. It compares numbers in keys by value.
func (p Path) Equal(other Path) bool {
	return smd.Path(p).Equals(smd.Path(other))
}

// Compare orders paths element by element. A field comes before everything below it.
func (p Path) Compare(other Path) int {
	return smd.Path(p).Compare(smd.Path(other))
}

// HasPrefix reports whether p equals prefix or is below it.
func (p Path) HasPrefix(prefix Path) bool {
	return len(p) >= len(prefix) && p[:len(prefix)].Equal(prefix)
}

// Clone returns a copy that shares no elements with p.
func (p Path) Clone() Path { return slices.Clone(p) }

// Child returns p with one more element. Children of p never share memory.
func (p Path) Child(pe Element) Path {
	return append(slices.Clip(p), pe)
}

func appendElement(b []byte, pe Element) []byte {
	switch {
	case pe.FieldName != nil:
		return appendField(b, *pe.FieldName)
	case pe.Key != nil:
		return appendKey(b, *pe.Key)
	case pe.Value != nil:
		return append(appendScalar(append(b, "[="...), (*pe.Value).Unstructured()), ']')
	case pe.Index != nil:
		return append(strconv.AppendInt(append(b, '['), int64(*pe.Index), 10), ']')
	default:
		return append(b, "[?]"...)
	}
}

func appendField(b []byte, name string) []byte {
	if isPlain(name) {
		return append(append(b, '.'), name...)
	}
	return append(strconv.AppendQuote(append(b, '['), name), ']')
}

func appendKey(b []byte, fields value.FieldList) []byte {
	if len(fields) == 0 {
		return append(b, "[{}]"...)
	}
	for i, f := range fields {
		b = append(b, "[,"[min(i, 1)])
		if isPlain(f.Name) {
			b = append(b, f.Name...)
		} else {
			b = strconv.AppendQuote(b, f.Name)
		}
		b = appendScalar(append(b, '='), f.Value.Unstructured())
	}
	return append(b, ']')
}

// appendScalar appends the text of a key's value. A value that is not a scalar is written as JSON,
// although the API server accepts no schema with such keys.
func appendScalar(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return strconv.AppendQuote(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.AppendInt(b, int64(v), 10)
		}
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	text, err := json.Marshal(v)
	if err != nil { // Neither JSON nor an API server can produce such a value.
		return append(b, '?')
	}
	return append(b, text...)
}

func isPlain(name string) bool {
	return name != "" && strings.IndexFunc(name, isOdd) < 0
}

func isOdd(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return false
	}
	return true
}

// IsUnowned reports whether the API server removes this metadata field from every field set.
func IsUnowned(name string) bool {
	switch name {
	case "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName",
		"generation", "managedFields", "resourceVersion":
		return true
	}
	return false
}

// IsIdentity reports whether a path is part of an object's identity, which appears in every
// manifest and has no owner.
func IsIdentity(p Path) bool {
	if len(p) == 0 || p[0].FieldName == nil {
		return true
	}
	switch *p[0].FieldName {
	case "apiVersion", "kind":
		return true
	case "metadata":
		return len(p) == 1 || p[1].FieldName != nil && IsUnowned(*p[1].FieldName)
	}
	return false
}

// IsKeyField reports whether a path names a key field of a list item.
func IsKeyField(p Path) bool {
	if len(p) < 2 || p[len(p)-2].Key == nil || p[len(p)-1].FieldName == nil {
		return false
	}
	_, is := KeyField(p[len(p)-2], *p[len(p)-1].FieldName)
	return is
}

// Positional reports whether the path names a list item by position. Paths in managed fields never
// do (edge case 4).
func (p Path) Positional() bool {
	return slices.ContainsFunc(p, func(pe Element) bool { return pe.Index != nil })
}

// ByKey replaces the positions in a path with the keys of the items at those positions, and reports
// whether all those items have keys. Without a schema, it assumes the keys that Kubernetes' own
// kinds use.
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

// GetIn returns the value at the path within a value that need not be an object.
func (p Path) GetIn(v any) (any, bool) {
	const field = "v"
	return append(Field(field), p...).Get(map[string]any{field: v})
}

// Without a schema, the element is only a guess.
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
			protocol, declared := m["protocol"]
			if !declared {
				protocol = "TCP"
			}
			key = append(key, value.Field{Name: "protocol", Value: value.NewValueInterface(protocol)})
		}
		return Element{Key: &key}
	}
	return Element{Key: &value.FieldList{}}
}
