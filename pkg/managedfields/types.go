package managedfields

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// SettledByTypes reports whether applying the manifest is a no-op, where [Judge] could
// not tell without the kind's schema: which values are one field with all that is in
// them, what the server supplies inside of those, and which texts and numbers are
// quantities. The schema is asked for only if it may settle the matter; it may be nil.
//
// The schema has to be the one by which the server would read the manifest now, with
// its references resolved.
func SettledByTypes(live, manifest *unstructured.Unstructured, manager string, schema func() *spec.Schema) bool {
	j := &judge{live: live.Object, manifest: manifest.Object, manager: manager}
	if !j.comparable() {
		return false
	}
	entries, err := Entries(live)
	if err != nil || len(entries) == 0 {
		return false
	}
	j.read(entries)
	j.types = &types{fetch: schema}
	return j.settled()
}

// types is a schema that is fetched when somebody asks.
type types struct {
	fetch func() *spec.Schema
	asked bool
	root  *spec.Schema
}

// at returns the schema of the value at a path, nil if nothing is known of it.
func (t *types) at(path []fieldpath.PathElement) *spec.Schema {
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

// wholeByType compares a map or list that is a leaf of the set, by its type. It is not
// sure where the type is not known, or would not help.
func (s *settler) wholeByType(v, live any) (same, sure bool) {
	if s.types == nil || !covers(live, v) {
		return false, false
	}
	schema := s.types.at(s.path)
	switch relationOf(schema) {
	case granular:
		// What was applied was empty, whatever others or the server put in since.
		return isEmpty(v) && sameSort(v, live), true
	case atomic:
		if s.othersBelow() {
			return false, true
		}
		return equal(v, live) || completes(v, live, schema) && !s.othersHold(), true
	case unknownRelation:
	}
	return false, false
}

// emptyByType reports whether an empty list that left no trace in the set is one that
// leaves none, so that whatever items are live are nobody's or others'.
func (s *settler) emptyByType() bool {
	return s.types != nil && relationOf(s.types.at(s.path)) == granular
}

// leftOut reports whether the server does not write out what is stated, since it is
// zero or empty and the kind is one of Kubernetes' own. Our set shows that it was so
// when we stated it: a field that is written out, and that somebody takes away, leaves
// our set as well. Of an empty list that has items of its own there is no trace.
func (s *settler) leftOut(v any, member bool) bool {
	list, isList := v.([]any)
	if s.types == nil || v == nil || !isZero(v) || !member && !isList || !s.types.builtin() || s.othersHold() {
		return false
	}
	if isList && len(list) == 0 && !member {
		return relationOf(s.types.at(s.path)) == granular
	}
	return true
}

// scalarByType reports whether two scalars are two ways to write one quantity. Whoever
// else holds it would be in conflict with the other way.
func (s *settler) scalarByType(v, live any) bool {
	return s.types != nil && sameQuantity(v, live) && isQuantity(s.types.at(s.path)) && !s.othersHold()
}
