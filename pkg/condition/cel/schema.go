package cel

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

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

// IsOpen reports whether a schema leaves open what is in an object, or what there is
// at all.
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

// HasNoStatus reports whether a kind is known to have no status. A schema that names
// no fields at all, or lets every field pass, tells nothing.
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

// listed is how many names of a schema an error lists.
const listed = 12

// Meant proposes a field, or the one of that name one level deeper, such as below
// status; where none is near, it lists what there is.
func Meant(where, name string, holder *spec.Schema) (meant, advice string) {
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
	return "", "there are: " + strings.Join(names, ", ")
}

// Names returns the fields that a schema declares.
func Names(s *spec.Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }
