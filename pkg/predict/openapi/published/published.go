// Package published adapts the schemas that API servers publish, as decoded by kube-openapi, to
// [openapi.Type]. It is separate from openapi so that only programs with such schemas link
// kube-openapi.
package published

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Of returns the type that a schema declares, and nil for a nil schema. The schema's references
// must be resolved. The ID of a schema is the name of its type.
func Of(s *spec.Schema) openapi.Type {
	return of(s, func(s *spec.Schema) *spec.Schema { return s })
}

// ByKind returns a function that returns the type of a kind. lookUp returns the schema of a kind,
// and a function that resolves a reference in it. References are resolved only on the requested
// path.
func ByKind(lookUp func(object.Kind) (*spec.Schema, func(*spec.Schema) *spec.Schema)) func(object.Kind) openapi.Type {
	return func(kind object.Kind) openapi.Type { return of(lookUp(kind)) }
}

func of(s *spec.Schema, follow func(*spec.Schema) *spec.Schema) openapi.Type {
	if s == nil {
		return nil
	}
	return schema{follow(s), follow}
}

type schema struct {
	*spec.Schema
	follow func(*spec.Schema) *spec.Schema
}

func (s schema) Name() string { return s.ID }

func (s schema) Kinds() []string { return s.Type }

func (s schema) Properties() []string { return slices.Collect(maps.Keys(s.Schema.Properties)) }

func (s schema) Property(name string) openapi.Type {
	field, ok := s.Schema.Properties[name]
	if !ok {
		return nil
	}
	return of(&field, s.follow)
}

func (s schema) Values() (openapi.Type, bool) {
	if s.AdditionalProperties == nil {
		return nil, false
	}
	return of(s.AdditionalProperties.Schema, s.follow), true
}

func (s schema) Items() openapi.Type {
	if s.Schema.Items == nil {
		return nil
	}
	return of(s.Schema.Items.Schema, s.follow)
}

func (s schema) Default() any { return s.Schema.Default }

func (s schema) Extension(key string) any { return s.Extensions[key] }

// Nullable reports whether null is a value of the type.
func (s schema) Nullable() bool { return s.Schema.Nullable }

// Pattern is the regular expression that a text must match; empty if there is none.
func (s schema) Pattern() string { return s.Schema.Pattern }
