package settle

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// wholeByType compares a map or list that is a leaf of the set, by its type. It is not
// sure if the type is unknown or does not decide.
func (s *settler) wholeByType(v, live any) (same, sure bool) {
	if s.types == nil || !covers(live, v) {
		return false, false
	}
	schema := s.types.At(s.path)
	relation := openapi.RelationOf(schema)
	if _, isList := v.([]any); isList && s.types.IsDeduced(s.path) {
		relation = openapi.Atomic
	}
	switch relation {
	case openapi.Granular:
		// What was applied was empty, whatever others or the server have put in since.
		return fieldpath.IsEmpty(v) && sameSort(v, live), true
	case openapi.Atomic:
		if s.othersBelow() {
			return false, true
		}
		return fieldpath.Equal(v, live) || completes(v, live, schema) && !s.othersHold(), true
	case openapi.Unknown:
	}
	return false, false
}

// emptyByType reports whether an empty list leaves no trace in a set by its type, so that
// any live items have other owners or none.
func (s *settler) emptyByType() bool {
	return s.types != nil && openapi.RelationOf(s.types.At(s.path)) == openapi.Granular
}

// leftOut reports whether the server stores a stated value by leaving it out, because it
// is zero or empty and the kind is one of Kubernetes' own. That our set still has the path
// shows it: if the field were written out and another manager had removed it, our set
// would have lost the path. (A null for a field that is written out leaves the same
// trace.) An empty list with items that are fields of their own is not in the set.
func (s *settler) leftOut(v any, member bool) bool {
	list, isList := v.([]any)
	if s.types == nil || v == nil || !isZero(v) || !member && !isList || !s.types.BuiltIn() || s.othersHold() {
		return false
	}
	schema := s.types.At(s.path)
	if isList && len(list) == 0 && !member {
		return openapi.RelationOf(schema) == openapi.Granular
	}
	return openapi.MayBe(schema, v) && !isWritten(s.path) // What is of another type is refused.
}

// scalarByType reports whether two scalars are two spellings of one quantity. With another
// holder, the other spelling would be a conflict.
func (s *settler) scalarByType(v, live any) bool {
	return s.types != nil && sameQuantity(v, live) && isQuantity(s.types.At(s.path)) && !s.othersHold()
}
