package cel

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// shape is a schema for CEL. Kubernetes' CEL hides what a schema leaves open: fields kept by
// x-kubernetes-preserve-unknown-fields, embedded objects, and values of several types. Conditions
// may need them, so here they have a dynamic type.
type shape struct {
	*openapi.Schema
	properties map[string]common.Schema
	items      *shape
	additional *shape
	// dynamic is set if the schema does not describe the value.
	dynamic bool
	// open is set if this shape, or one below it, is dynamic.
	open bool
}

// shapeOf returns the shape of a schema. It includes only the fields that the expression reads,
// because a kind such as Deployment has many others.
func shapeOf(s *spec.Schema, r Reads) *shape {
	sh := &shape{Schema: &openapi.Schema{Schema: s}}
	if sh.dynamic = IsOpen(s); sh.dynamic {
		sh.open = true
		return sh
	}
	if len(s.Properties) > 0 {
		sh.properties = map[string]common.Schema{}
		for name := range s.Properties {
			if inner, found := r.Below(name); found {
				property := s.Properties[name]
				sh.properties[name] = sh.adopt(shapeOf(&property, inner))
			}
		}
	} else if s.AdditionalProperties != nil {
		sh.additional = sh.adopt(shapeOf(s.AdditionalProperties.Schema, Reads{All: true}))
	}
	if s.Items != nil {
		sh.items = sh.adopt(shapeOf(s.Items.Schema, Reads{All: true}))
	}
	return sh
}

func (s *shape) adopt(below *shape) *shape {
	s.open = s.open || below.open
	return below
}

// IsXIntOrString returns true for types that are dynamic in Kubernetes' CEL.
func (s *shape) IsXIntOrString() bool { return s.dynamic || s.Schema.IsXIntOrString() }

// Nullable returns true, so that a null in an object is not an error.
func (s *shape) Nullable() bool { return true }

// Properties returns only the properties that the expression reads.
func (s *shape) Properties() map[string]common.Schema { return s.properties }

// Items implements common.Schema.
func (s *shape) Items() common.Schema {
	if s.items == nil {
		return nil
	}
	return s.items
}

// AdditionalProperties implements common.Schema.
func (s *shape) AdditionalProperties() common.SchemaOrBool {
	if s.additional == nil {
		return nil
	}
	return schemaOrBool{s.additional}
}

type schemaOrBool struct{ shape *shape }

func (s schemaOrBool) Schema() common.Schema { return s.shape }

func (s schemaOrBool) Allows() bool { return true }

// value converts v to Kubernetes' types if the schema describes all of v. If it does not, value
// converts v to the types of plain JSON.
func (s *shape) value(v any) ref.Val {
	if s == nil || s.dynamic || v == nil {
		return types.DefaultTypeAdapter.NativeToValue(v)
	}
	if !s.open {
		return common.UnstructuredToVal(v, s)
	}
	switch v := v.(type) {
	case map[string]any:
		return s.mapping(v)
	case []any:
		if s.items == nil {
			break
		}
		items := make([]deferred, len(v))
		for i := range v {
			items[i] = deferred{s.items, v[i]}
		}
		return types.NewDynamicList(deferredAdapter{}, items)
	}
	return common.UnstructuredToVal(v, s)
}

func (s *shape) mapping(v map[string]any) ref.Val {
	out := make(map[string]any, len(v))
	for name, below := range v {
		if s.additional != nil {
			out[name] = deferred{s.additional, below}
			continue
		}
		property, known := s.properties[name].(*shape)
		// As in Kubernetes' CEL, a null counts as absent.
		if !known || below == nil {
			continue
		}
		out[name] = deferred{property, below}
		if escaped, ok := apiservercel.Escape(name); ok {
			out[escaped] = out[name]
		}
	}
	return types.NewStringInterfaceMap(deferredAdapter{}, out)
}

// deferred is a value that is converted only when CEL reads it.
type deferred struct {
	shape *shape
	value any
}

type deferredAdapter struct{}

func (deferredAdapter) NativeToValue(v any) ref.Val {
	if d, ok := v.(deferred); ok {
		return d.shape.value(d.value)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// Below returns the schema of a property.
func Below(s *spec.Schema, name string) *spec.Schema {
	if s == nil {
		return nil
	}
	if property, found := s.Properties[name]; found {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

// IsOpen reports whether a schema leaves open the fields of an object or the type of a value.
func IsOpen(s *spec.Schema) bool {
	o := &openapi.Schema{Schema: s}
	if o.IsXIntOrString() {
		return false
	}
	if o.IsXPreserveUnknownFields() || o.IsXEmbeddedResource() || len(s.Type) != 1 {
		return true
	}
	switch s.Type[0] {
	case "object":
		return len(s.Properties) == 0 && (s.AdditionalProperties == nil || s.AdditionalProperties.Schema == nil)
	case "array":
		return s.Items == nil || s.Items.Schema == nil
	case "string", "boolean", "number", "integer":
		return false
	default:
		return true
	}
}

// HasNoStatus reports whether a kind certainly has no status. A schema that declares no fields, or
// allows any, proves nothing.
func HasNoStatus(s *spec.Schema) bool {
	if s == nil || len(s.Properties) == 0 {
		return false
	}
	if anything, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields"); anything {
		return false
	}
	_, has := s.Properties["status"]
	return !has
}

const listed = 12

// Suggest suggests a similar field, or the same name one level deeper, such as below status.
// Otherwise, advice lists the fields.
func Suggest(where, name string, holder *spec.Schema) (intended, advice string) {
	names := Names(holder)
	if near := text.Nearest(name, names); near != "" {
		return where + near, ""
	}
	for _, outer := range names {
		if _, found := holder.Properties[outer].Properties[name]; found && outer != "metadata" {
			return where + outer + "." + name, ""
		}
	}
	if len(names) > listed {
		names = append(names[:listed:listed], "…")
	}
	return "", "the fields are: " + strings.Join(names, ", ")
}

// Names returns the fields that a schema declares.
func Names(s *spec.Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }
