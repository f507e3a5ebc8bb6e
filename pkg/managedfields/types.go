package managedfields

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
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
		return fieldpath.IsEmpty(v) && sameSort(v, live), true
	case atomic:
		if s.othersBelow() {
			return false, true
		}
		return fieldpath.Equal(v, live) || completes(v, live, schema) && !s.othersHold(), true
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
