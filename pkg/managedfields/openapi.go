package managedfields

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// types is a schema that is fetched when somebody asks.
type types struct {
	fetch func() *spec.Schema
	asked bool
	root  *spec.Schema
}

// at returns the schema of the value at a path, nil if nothing is known of it.
func (t *types) at(path []fieldpath.Element) *spec.Schema {
	if t == nil {
		return nil
	}
	if !t.asked {
		t.root, t.asked = t.fetch(), true
	}
	s := t.root
	for _, pe := range path {
		if s == nil {
			return nil
		}
		if pe.FieldName != nil {
			s = fieldOf(s, *pe.FieldName)
		} else {
			s = itemsOf(s)
		}
	}
	return s
}

// builtin reports whether the kind is one that is compiled into the API server.
func (t *types) builtin() bool {
	root := t.at(nil)
	return root != nil && isBuiltin(root)
}

// isBuiltin reports whether a schema is that of a type of Kubernetes itself.
func isBuiltin(s *spec.Schema) bool { return strings.HasPrefix(s.ID, "io.k8s.api.") }

// fieldOf returns the schema of a field, nil where it is not declared.
func fieldOf(s *spec.Schema, name string) *spec.Schema {
	if s == nil {
		return nil
	}
	if field, ok := s.Properties[name]; ok {
		return &field
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

func itemsOf(s *spec.Schema) *spec.Schema {
	if s == nil || s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// relation says who may own what of a map or a list.
type relation int

const (
	unknownRelation relation = iota
	granular                 // each of its fields or items has owners of its own
	atomic                   // it is one field with all that is in it
)

// relationOf reads off the schema what the API server goes by.
func relationOf(s *spec.Schema) relation {
	if s == nil {
		return unknownRelation
	}
	switch {
	case slices.Contains(s.Type, "array"):
		return listRelation(s)
	case !slices.Contains(s.Type, "object"):
		return unknownRelation
	case s.Extensions["x-kubernetes-map-type"] == any("atomic"):
		return atomic
	case len(s.Properties) == 0 && s.AdditionalProperties == nil:
		return unknownRelation // Of what is in it, nothing is declared.
	}
	return granular
}

func listRelation(s *spec.Schema) relation {
	switch kind, declared := s.Extensions["x-kubernetes-list-type"]; {
	case declared && kind == any("atomic"):
		return atomic
	case declared:
		return granular
	}
	// Kinds from before server-side apply say it for kubectl's patches.
	if _, merged := s.Extensions["x-kubernetes-patch-strategy"]; merged {
		return granular
	}
	return atomic
}
