// Package openapi reads the declarations that the API server follows when it merges objects: the
// type of a path, and whether a map or list is atomic. The caller provides the types, such as the
// server's published schemas.
package openapi

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Schema is a kind's schema with resolved references, fetched on first use. For a nil Schema, every
// type is unknown.
type Schema struct {
	// Fetch is called once, and may return nil.
	Fetch func() Type
	asked bool
	root  Type
}

// At returns the schema of the value at a path; nil if unknown.
func (t *Schema) At(path []fieldpath.Element) Type {
	if t == nil {
		return nil
	}
	if !t.asked {
		t.root, t.asked = t.Fetch(), true
	}
	s := t.root
	for _, pe := range path {
		if s == nil {
			return nil
		}
		if pe.FieldName != nil {
			s = Field(s, *pe.FieldName)
		} else {
			s = Items(s)
		}
	}
	return s
}

// IsDeduced reports whether the schema preserves the value at a path without describing it. The
// server then deduces the type from the value: a map is granular, and a list is atomic.
func (t *Schema) IsDeduced(path []fieldpath.Element) bool {
	for i, pe := range path {
		s := t.At(path[:i])
		if s == nil || pe.FieldName == nil {
			return false
		}
		if Field(s, *pe.FieldName) == nil {
			return s.Extension("x-kubernetes-preserve-unknown-fields") == any(true) && !IsBuiltIn(s)
		}
	}
	return false
}

// BuiltIn reports whether the kind is compiled into the API server.
func (t *Schema) BuiltIn() bool {
	root := t.At(nil)
	return root != nil && IsBuiltIn(root)
}

// IsBuiltIn reports whether the schema belongs to one of Kubernetes' own types.
func IsBuiltIn(s Type) bool { return strings.HasPrefix(s.Name(), "io.k8s.api.") }

// Field returns the schema of a field; nil if undeclared.
func Field(s Type, name string) Type {
	if s == nil {
		return nil
	}
	if field := s.Property(name); field != nil {
		return field
	}
	values, _ := s.Values()
	return values
}

// Items returns the schema of a list's items; nil if undeclared.
func Items(s Type) Type {
	if s == nil {
		return nil
	}
	return s.Items()
}

// MayBe reports whether the declared types allow the value. If the schema declares none, as for
// quantities and named ports, every value is allowed.
func MayBe(s Type, v any) bool {
	if s == nil || len(s.Kinds()) == 0 {
		return true
	}
	var kinds []string
	switch v.(type) {
	case map[string]any:
		kinds = []string{"object"}
	case []any:
		kinds = []string{"array"}
	case string:
		kinds = []string{"string"}
	case bool:
		kinds = []string{"boolean"}
	case int64, float64:
		kinds = []string{"integer", "number"}
	}
	return slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(s.Kinds(), kind) })
}

// Relation is the way in which the fields of a map or the items of a list are owned.
type Relation int

const (
	// Unknown means that the schema does not say whether the value is granular or atomic.
	Unknown Relation = iota
	// Granular means that each field or item has its own owners.
	Granular
	// Atomic means that the value can be owned only as a whole.
	Atomic
)

// RelationOf returns the way in which the API server merges values of the schema.
func RelationOf(s Type) Relation {
	if s == nil {
		return Unknown
	}
	_, open := s.Values()
	switch {
	case slices.Contains(s.Kinds(), "array"):
		return listRelation(s)
	case !slices.Contains(s.Kinds(), "object"):
		return Unknown
	case s.Extension("x-kubernetes-map-type") == any("atomic"):
		return Atomic
	case len(s.Properties()) == 0 && !open:
		return Unknown // The schema does not declare the fields of the map.
	}
	return Granular
}

func listRelation(s Type) Relation {
	switch s.Extension("x-kubernetes-list-type") {
	case nil:
	case any("atomic"):
		return Atomic
	default:
		return Granular
	}
	// Kinds that predate server-side apply declare a strategy for kubectl's patches.
	if s.Extension("x-kubernetes-patch-strategy") != nil {
		return Granular
	}
	return Atomic
}

// Type is the declaration of a value, with resolved references. Undeclared parts are nil or empty.
// A nil Type is unknown. Package published implements Type for an API server's schemas, and package
// local for Go types.
type Type interface {
	// Name is a name such as "io.k8s.api.core.v1.PodSpec".
	Name() string
	// Kinds are the JSON types, such as "object" or "integer".
	Kinds() []string
	Properties() []string
	Property(name string) Type
	// Values returns the type of the values at keys that are not declared as properties, and
	// whether such keys are allowed. The type may be nil even if such keys are allowed.
	Values() (values Type, open bool)
	Items() Type
	Default() any
	// Extension returns the value of a key such as "x-kubernetes-list-type".
	Extension(key string) any
}
