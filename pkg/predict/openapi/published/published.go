package published

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Of returns the type that a schema declares, nil for none. Its references have to be
// resolved; the ID of what was referred to is the name of the type.
func Of(s *spec.Schema) openapi.Type {
	if s == nil {
		return nil
	}
	return schema{s}
}

// ByKind is [Of] for the schemas of kinds, as a Predictor asks for them.
func ByKind(schema func(object.Kind) *spec.Schema) func(object.Kind) openapi.Type {
	return func(kind object.Kind) openapi.Type { return Of(schema(kind)) }
}

type schema struct{ *spec.Schema }

func (s schema) Name() string { return s.ID }

func (s schema) Kinds() []string { return s.Type }

func (s schema) Properties() []string { return slices.Collect(maps.Keys(s.Schema.Properties)) }

func (s schema) Property(name string) openapi.Type {
	field, ok := s.Schema.Properties[name]
	if !ok {
		return nil
	}
	return Of(&field)
}

func (s schema) Values() (openapi.Type, bool) {
	if s.AdditionalProperties == nil {
		return nil, false
	}
	return Of(s.AdditionalProperties.Schema), true
}

func (s schema) Items() openapi.Type {
	if s.Schema.Items == nil {
		return nil
	}
	return Of(s.Schema.Items.Schema)
}

func (s schema) Default() any { return s.Schema.Default }

func (s schema) Extension(key string) any { return s.Extensions[key] }
