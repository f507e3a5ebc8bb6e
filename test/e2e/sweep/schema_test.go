package sweep_test

import (
	"maps"
	"slices"
	"strings"
)

// document is one group version's published OpenAPI v3 document.
type document struct {
	Components struct {
		Schemas map[string]node `json:"schemas"`
	} `json:"components"`
}

// node is a schema as published, undecoded.
type node map[string]any

// use is a schema where a field refers to it: the referenced schema with the field's own keywords.
type use struct {
	node
	name string // of the referenced schema
}

func (d document) resolve(s node) use {
	out := use{node: maps.Clone(s)}
	for {
		ref, _ := out.node["$ref"].(string)
		if all, _ := out.node["allOf"].([]any); ref == "" && len(all) == 1 {
			one, _ := all[0].(map[string]any)
			ref, _ = one["$ref"].(string)
		}
		if ref == "" {
			return out
		}
		out.name = strings.TrimPrefix(ref, "#/components/schemas/")
		delete(out.node, "$ref")
		delete(out.node, "allOf")
		for key, value := range d.Components.Schemas[out.name] {
			if _, nearer := out.node[key]; !nearer {
				out.node[key] = value
			}
		}
	}
}

func (u use) kind() string {
	if strings.HasSuffix(u.name, ".Quantity") {
		return "quantity"
	}
	if u.node["x-kubernetes-int-or-string"] == true || u.node["format"] == "int-or-string" || strings.HasSuffix(u.name, ".IntOrString") {
		return "int-or-string"
	}
	kind, _ := u.node["type"].(string)
	return kind
}

func (u use) properties() []string {
	properties, _ := u.node["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

func (d document) property(u use, name string) use {
	properties, _ := u.node["properties"].(map[string]any)
	s, _ := properties[name].(map[string]any)
	return d.resolve(s)
}

func (d document) items(u use) (use, bool) {
	s, ok := u.node["items"].(map[string]any)
	return d.resolve(s), ok
}

func (d document) values(u use) (use, bool) {
	s, ok := u.node["additionalProperties"].(map[string]any)
	return d.resolve(s), ok
}

// sample returns a plausible value with the required fields only.
func (d document) sample(u use, field string, depth int) any {
	if values, ok := u.node["enum"].([]any); ok {
		for _, v := range values {
			if v != "" {
				return v
			}
		}
	}
	switch u.kind() {
	case "string":
		switch {
		case u.node["format"] == "date-time":
			return "2026-01-01T00:00:00Z"
		case strings.HasSuffix(strings.ToLower(field), "path"):
			return "/a"
		}
		return "a"
	case "integer", "number", "int-or-string":
		return int64(1)
	case "quantity":
		return "1"
	case "boolean":
		return true
	case "array":
		items, ok := d.items(u)
		if !ok || depth > 6 {
			return []any{}
		}
		return []any{d.sample(items, field, depth+1)}
	}
	out := map[string]any{}
	required, _ := u.node["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); ok && depth <= 6 {
			out[name] = d.sample(d.property(u, name), name, depth+1)
		}
	}
	if values, ok := d.values(u); ok && depth > 0 && depth <= 6 {
		out["a"] = d.sample(values, field, depth+1)
	}
	return out
}
