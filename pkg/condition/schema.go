package condition

import (
	"encoding/base64"
	"maps"
	"slices"
	"time"

	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// preserves is the mark of objects with fields that no schema tells
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/).
const preserves = "x-kubernetes-preserve-unknown-fields"

// isOpen tells whether a schema leaves open what is in an object, or what there is
// at all.
func isOpen(s *spec.Schema) bool {
	if open, _ := s.Extensions.GetBool(preserves); open {
		return true
	}
	switch typeOf(s) {
	case "":
		return true
	case "object":
		return len(s.Properties) == 0 && (s.AdditionalProperties == nil || s.AdditionalProperties.Schema == nil)
	case "array":
		return s.Items == nil || s.Items.Schema == nil
	default:
		return s.Format == anything
	}
}

// anything is the format by which a schema says that a value may be an integer or a
// string. The types of CEL that Kubernetes makes of it are dynamic, and it is the
// only way to say so.
const anything = "int-or-string"

func typeOf(s *spec.Schema) string {
	if len(s.Type) == 0 {
		return ""
	}
	return s.Type[0]
}

// dynamic returns the schema with everything that it leaves open as dynamic. A
// rule of a CRD may not read such fields; a wait may, for it reads what is there.
func dynamic(s *spec.Schema) *spec.Schema {
	if isOpen(s) {
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}, Format: anything}}
	}
	out := *s
	if s.Properties != nil {
		out.Properties = maps.Clone(s.Properties)
		for name, prop := range s.Properties {
			out.Properties[name] = *dynamic(&prop)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: dynamic(s.AdditionalProperties.Schema)}
	}
	if s.Items != nil && s.Items.Schema != nil {
		out.Items = &spec.SchemaOrArray{Schema: dynamic(s.Items.Schema)}
	}
	return &out
}

// typed returns a value as CEL expects it for the schema: times as times, bytes as
// bytes, names of fields as CEL spells them. What does not fit the schema stays as
// it is. s is nil where nothing is known.
func typed(v any, s *spec.Schema) any {
	if s == nil || isOpen(s) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			within, declared := fieldOf(s, name)
			out[name] = typed(field, within)
			if escaped, ok := apiservercel.Escape(name); ok && declared {
				out[escaped] = out[name] // CEL lets some names be written both ways.
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = typed(item, itemOf(s))
		}
		return out
	case string:
		return typedText(v, s.Format)
	case int64:
		if typeOf(s) == "number" {
			return float64(v)
		}
	case float64:
		if typeOf(s) == "integer" && v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

func typedText(text, format string) any {
	switch format {
	case "date-time":
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return at
		}
	case "date":
		if at, err := time.Parse(time.DateOnly, text); err == nil {
			return at
		}
	case "duration":
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	case "byte":
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return b
		}
	}
	return text
}

// fieldOf returns the schema of a field, nil if it is open, and whether the schema
// declares the field by its name.
func fieldOf(s *spec.Schema, name string) (within *spec.Schema, declared bool) {
	if s == nil {
		return nil, false
	}
	if prop, ok := s.Properties[name]; ok {
		return &prop, true
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema, false
	}
	return nil, false
}

// itemOf returns the schema of the items of a list, nil if it is open.
func itemOf(s *spec.Schema) *spec.Schema {
	if s == nil || s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// fieldNames returns the fields that a schema declares.
func fieldNames(s *spec.Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }
