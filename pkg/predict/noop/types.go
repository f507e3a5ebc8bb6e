package noop

import (
	"strings"

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
		// The applied value was empty, whatever others or the server have put in since.
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
	if s.types == nil || v == nil || !isZero(v) || !member && !isList || !s.compiledIn() || s.othersHold() {
		return false
	}
	schema := s.types.At(s.path)
	if isList && len(list) == 0 && !member {
		return openapi.RelationOf(schema) == openapi.Granular
	}
	return openapi.MayBe(schema, v) && !s.isWritten() // A value of another type is refused.
}

// compiledIn reports whether the kind is one of Kubernetes' own, definitions among them.
func (s *settler) compiledIn() bool { return s.types.BuiltIn() || s.isDefinition() }

func (s *settler) isDefinition() bool {
	root := s.types.At(nil)
	return root != nil && strings.HasPrefix(root.Name(), definitionTypes)
}

// isWritten reports whether the field at the current path is written out even if it is zero.
func (s *settler) isWritten() bool {
	if s.isDefinition() {
		last := s.path[len(s.path)-1]
		return last.FieldName == nil || isWrittenInDefinitions(*last.FieldName)
	}
	if parent := s.types.At(s.path[:len(s.path)-1]); parent != nil {
		switch parent.Name() + s.path[len(s.path)-1:].String() {
		case "io.k8s.api.core.v1.PodSpec.nodeSelector", "io.k8s.api.core.v1.ServiceSpec.selector":
			return false // Those of the same name and parent are of other types.
		}
	}
	return isWritten(s.path)
}

// nullByType reports whether the server turns null into the live value of one of Kubernetes' own
// kinds: its default, or an empty map that is written out because it is no pointer.
func (s *settler) nullByType(live any) bool {
	last := s.path[len(s.path)-1]
	if s.types == nil || last.FieldName == nil || !s.compiledIn() || s.othersHold() {
		return false
	}
	parent, schema := s.types.At(s.path[:len(s.path)-1]), s.types.At(s.path)
	if value, ok := defaultOf(parent, *last.FieldName); ok && value != nil && completes(value, live, schema) {
		return true
	}
	empty, isMap := live.(map[string]any)
	return isMap && len(empty) == 0 && openapi.MayBe(schema, live) && schema != nil && !s.isWritten()
}

// scalarByType reports whether two scalars are two spellings of one quantity. With another
// holder, the other spelling would be a conflict.
func (s *settler) scalarByType(v, live any) bool {
	return s.types != nil && sameQuantity(v, live) && isQuantity(s.types.At(s.path)) && !s.othersHold()
}
