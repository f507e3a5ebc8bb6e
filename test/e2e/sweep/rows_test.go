package sweep_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one object: the kind's base object with one field changed.
type row struct {
	path   string // such as ".spec.ports[0].protocol"
	value  string // such as "null"
	object map[string]any
}

func (r row) String() string { return r.path + " = " + r.value }

// step is a field's name, or a position in a list.
type step = any

// rows generates the rows of a kind. A type that occurs repeatedly, such as a label selector, is
// swept at its first use only; seen carries that across kinds.
type rows struct {
	doc  document
	base map[string]any
	// stored is the base as the server stores it, with its defaults.
	stored map[string]any
	seen   map[string]bool
	out    []row
}

// all generates the rows, beginning with the base itself.
func (r *rows) all() []row {
	r.out = []row{{path: "(base)", value: "as it is", object: r.base}}
	r.object(r.doc.resolve(r.root()), nil)
	return r.out
}

func (r *rows) object(u use, path []step) {
	if u.name != "" && len(path) > 0 {
		if r.seen[u.name] {
			return
		}
		r.seen[u.name] = true
	}
	for _, name := range u.properties() {
		if len(path) == 0 && (name == "apiVersion" || name == "kind" || name == "status") {
			continue
		}
		if len(path) == 1 && path[0] == step("metadata") && identity(name) {
			continue
		}
		r.field(r.doc.property(u, name), name, append(slices.Clip(path), name))
	}
	if values, ok := r.doc.values(u); ok && len(path) > 0 {
		r.field(values, "a", append(slices.Clip(path), "a"))
	}
}

// identity reports whether a field of metadata is not a manifest's to set.
func identity(name string) bool {
	switch name {
	case "name", "namespace", "generateName", "uid", "resourceVersion", "managedFields", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink":
		return true
	}
	return false
}

func (r *rows) field(u use, name string, path []step) {
	if len(path) > 14 {
		return
	}
	base, isSet := get(r.base, path)
	for _, v := range r.values(u, path, base, isSet) {
		r.add(path, v)
	}
	if isSet && (len(path) != 2 || path[0] != step("metadata")) {
		r.add(path, leftOut)
	}
	switch u.kind() {
	case "array":
		items, ok := r.doc.items(u)
		if !ok {
			return
		}
		r.items(items, name, path, base)
	case "object":
		r.object(u, path)
	}
}

// items sweeps the fields of a list's items. Each field is changed in the first item that has it.
func (r *rows) items(items use, name string, path []step, base any) {
	list, _ := base.([]any)
	if items.kind() != "object" {
		r.field(items, name, append(slices.Clip(path), 0))
		return
	}
	if items.name != "" {
		if r.seen[items.name] {
			return
		}
		r.seen[items.name] = true
	}
	for _, property := range items.properties() {
		at := 0
		for i, item := range list {
			if m, ok := item.(map[string]any); ok {
				if _, has := m[property]; has {
					at = i
					break
				}
			}
		}
		r.field(r.doc.property(items, property), property, append(slices.Clip(path), at, property))
	}
}

type special string

const leftOut special = "left out"

func (r *rows) values(u use, path []step, base any, isSet bool) []any {
	values := []any{nil}
	add := func(v any) {
		for _, earlier := range values {
			if reflect.DeepEqual(earlier, v) {
				return
			}
		}
		if !isSet || !reflect.DeepEqual(base, v) {
			values = append(values, v)
		}
	}
	switch u.kind() {
	case "string":
		add("")
		if text, ok := base.(string); ok && u.node["format"] == "date-time" {
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				add(at.In(time.FixedZone("", 3600)).Format(time.RFC3339))
			}
		}
	case "integer", "number":
		add(int64(0))
	case "boolean":
		add(false)
	case "array":
		add([]any{})
	case "int-or-string":
		add(int64(0))
		add("")
		switch b := base.(type) {
		case int64:
			add(strconv.FormatInt(b, 10))
		case string:
			if n, err := strconv.ParseInt(b, 10, 64); err == nil {
				add(n)
			}
		}
	case "quantity":
		add("0")
		add(int64(0))
		switch base {
		case "1", "100m":
			add("1000m")
			add(int64(1))
		case "1Gi":
			add("1024Mi")
			add(int64(1 << 30))
		case "1k":
			add(int64(1000))
		}
	default:
		add(map[string]any{})
	}
	if v, ok := u.node["default"]; ok {
		add(whole(v))
	}
	if v, ok := get(r.stored, path); ok {
		add(v)
	}
	return values
}

// whole turns a number that encoding/json read from a schema into an integer if it is one.
func whole(v any) any {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return v
}

func (r *rows) add(path []step, v any) {
	object := clone(r.base).(map[string]any)
	text := string(leftOut)
	if v == any(leftOut) {
		remove(object, path)
	} else {
		if !r.put(object, path, v) {
			return
		}
		text = encode(v)
	}
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	r.out = append(r.out, row{path: write(path), value: text, object: object})
	// A spec with nothing but an empty value has no owner, in a kind that requires no field.
	if r.base["kind"] == "Everything" && len(path) == 2 && path[0] == step("spec") && v != any(leftOut) {
		alone := clone(r.base).(map[string]any)
		alone["spec"] = map[string]any{path[1].(string): clone(v)}
		r.out = append(r.out, row{path: write(path), value: text + " alone", object: alone})
	}
}

// put sets a value, and creates missing parents with what they require.
func (r *rows) put(object map[string]any, path []step, v any) bool {
	u := r.doc.resolve(r.root())
	var at any = object
	for i, s := range path {
		last := i == len(path)-1
		switch s := s.(type) {
		case string:
			m, ok := at.(map[string]any)
			if !ok {
				return false
			}
			if values, open := r.doc.values(u); open {
				u = values
			} else {
				u = r.doc.property(u, s)
			}
			if last {
				m[s] = clone(v)
				return true
			}
			if m[s] == nil {
				m[s] = r.doc.sample(u, s, 1)
			}
			at = m[s]
			if list, ok := at.([]any); ok && len(list) == 0 {
				items, _ := r.doc.items(u)
				m[s] = []any{r.doc.sample(items, s, 1)}
				at = m[s]
			}
		case int:
			list, ok := at.([]any)
			if !ok || s >= len(list) {
				return false
			}
			u, _ = r.doc.items(u)
			if last {
				list[s] = clone(v)
				return true
			}
			at = list[s]
		}
	}
	return false
}

func (r *rows) root() node {
	for _, s := range r.doc.Components.Schemas {
		if isKind(s, r.base) {
			return s
		}
	}
	return nil
}

// isKind reports whether a schema is that of the object's kind.
func isKind(s node, object map[string]any) bool {
	kinds, _ := s["x-kubernetes-group-version-kind"].([]any)
	if len(kinds) != 1 {
		return false
	}
	gvk, _ := kinds[0].(map[string]any)
	version, _ := gvk["version"].(string)
	if group, _ := gvk["group"].(string); group != "" {
		version = group + "/" + version
	}
	return version == object["apiVersion"] && gvk["kind"] == object["kind"]
}

func get(v any, path []step) (any, bool) {
	for _, s := range path {
		switch s := s.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			if v, ok = m[s]; !ok {
				return nil, false
			}
		case int:
			list, ok := v.([]any)
			if !ok || s >= len(list) {
				return nil, false
			}
			v = list[s]
		}
	}
	return v, true
}

func remove(object map[string]any, path []step) {
	parent, ok := get(object, path[:len(path)-1])
	name, isField := path[len(path)-1].(string)
	if m, isMap := parent.(map[string]any); ok && isMap && isField {
		delete(m, name)
	}
}

func write(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch s := s.(type) {
		case string:
			b.WriteString("." + s)
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		}
	}
	return b.String()
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = clone(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}
