package noop

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

func (j *evaluation) settled() bool {
	if !j.oneVersion || j.rewritesLastApplied() {
		return false
	}
	for _, e := range j.others {
		if e.Fields.Empty() && e.WriteOnly == nil { // The next apply would drop an empty entry.
			return false
		}
	}
	s := settler{evaluation: j}
	return j.declared(s.top) && s.matched == j.ours.Size()
}

// rewritesLastApplied reports whether the API server updates the last-applied annotation. It does
// so only for the manager "kubectl", and only if the object has the annotation.
func (j *evaluation) rewritesLastApplied() bool {
	return j.manager == "kubectl" && managedfields.LastApplied(j.live) != ""
}

func (s *settler) top(name string, v any, inMetadata bool) bool {
	set, live := s.ours, s.live
	if inMetadata {
		pe := fieldpath.FieldElement("metadata")
		live, _ = s.live["metadata"].(map[string]any)
		if set, _ = fieldpath.Below(s.ours, pe); set == nil {
			return false
		}
		s.path = append(s.path[:0], pe)
		// A field that is both a member and a parent comes from an Update entry that was moved into
		// ours. The next apply drops it, because an apply never creates such a path.
		field := fieldpath.FieldElement(name)
		if _, parent := fieldpath.Below(set, field); parent && set.Members.Has(field) {
			return false
		}
	} else {
		s.path = s.path[:0]
	}
	return s.field(name, v, live, set)
}

func (s *settler) field(name string, v any, live map[string]any, set *fieldpath.Set) bool {
	pe := fieldpath.Element{FieldName: &name}
	member := set.Members.Has(pe)
	child, _ := fieldpath.Below(set, pe)
	if !member && child == nil && !fieldpath.IsEmpty(v) {
		return false
	}
	s.path = append(s.path, pe)
	ok := s.value(v, fieldpath.FieldOf(live, name), member, child)
	s.path = s.path[:len(s.path)-1]
	return ok
}

func (s *settler) value(v any, live fieldpath.Optional, member bool, child *fieldpath.Set) bool {
	if member {
		s.matched++
	}
	if live.Value == nil && child == nil && s.leftOut(v, member) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		if child != nil {
			lm, ok := live.Value.(map[string]any)
			return ok && len(v) > 0 && s.fields(v, lm, child)
		}
		return member && live.Has && s.isWholeSettled(v, live.Value)
	case []any:
		switch {
		case child != nil:
			ll, ok := live.Value.([]any)
			return ok && len(v) > 0 && s.items(v, ll, child)
		case !member:
			// Our set contains an empty list only if the list is atomic. A list is granular if
			// others own its items.
			_, isList := live.Value.([]any)
			return len(v) == 0 && isList && (s.othersBelow() ||
				s.types != nil && openapi.RelationOf(s.types.At(s.path)) == openapi.Granular)
		}
		return live.Has && s.isWholeSettled(v, live.Value)
	case nil:
		if child != nil || !member {
			return false
		}
		if live.Value != nil {
			return s.nullByType(live.Value)
		}
		// The server does not store null in a field of a built-in kind. Yet each apply treats null
		// as a new value, and as a conflict with any other owner.
		return live.Has || !s.othersHold()
	}
	return member && child == nil && live.Has && (fieldpath.Equal(v, live.Value) || s.scalarByType(v, live.Value))
}

// isWholeSettled reports whether a map or list that is a leaf of our set is unchanged. Such a value is
// atomic, or was empty when we applied it. If others own paths below it, it is granular. A
// non-empty map or list counts as unchanged only if it is known to be atomic.
func (s *settler) isWholeSettled(v, live any) bool {
	if same, sure := s.wholeByType(v, live); sure {
		return same
	}
	_, isMap := v.(map[string]any)
	if fieldpath.IsEmpty(v) {
		return fieldpath.Equal(v, live) || isMap && s.othersBelow() && sameSort(v, live)
	}
	if isMap {
		if last := s.path[len(s.path)-1]; last.FieldName != nil && !isAtomicMap(*last.FieldName) {
			return false
		}
	}
	if _, isList := v.([]any); isList && !s.isAtomicList() {
		return false // The server would make us an owner of the list's items (edge case 89).
	}
	return fieldpath.Equal(v, live) && !s.othersBelow()
}

// isAtomicList reports whether the list at the current path is known to be atomic. A leaf of our
// set need not be atomic: a granular list is also a leaf in an entry that was edited by hand, or
// that was written while the list was empty.
func (s *settler) isAtomicList() bool {
	last := s.path[len(s.path)-1]
	version, _ := s.manifest["apiVersion"].(string)
	return last.FieldName != nil && isBuiltIn(version) && !isGranularList(*last.FieldName, len(s.path) == 1)
}

func (s *settler) fields(m, live map[string]any, set *fieldpath.Set) bool {
	for name, v := range m {
		if !s.field(name, v, live, set) {
			return false
		}
	}
	return true
}

// items reports whether a list whose items are owned individually is unchanged. Other managers'
// items may be interspersed with ours. But ours must be in the manifest's order; otherwise the
// server would reorder them. If the set has more items than the manifest, the number of matched
// paths reveals the difference.
func (s *settler) items(list, live []any, set *fieldpath.Set) bool {
	x := fieldpath.ItemsOf(set)
	if !x.Distinct(live) {
		return false
	}
	next := 0
	for _, item := range list {
		pe, ok := x.Identify(item, func(pe fieldpath.Element) bool { return isProven(item, pe, set) })
		if !ok {
			return false
		}
		for next < len(live) && x.Match(live[next], pe) != fieldpath.Exact {
			next++
		}
		if next == len(live) || !s.item(item, live[next], pe, set) {
			return false
		}
		next++
	}
	return true
}

func (s *settler) item(item, live any, pe fieldpath.Element, set *fieldpath.Set) bool {
	child, _ := fieldpath.Below(set, pe)
	if !set.Members.Has(pe) {
		return false
	}
	s.path = append(s.path, pe)
	ok := s.value(item, fieldpath.Present(live), true, child)
	s.path = s.path[:len(s.path)-1]
	return ok
}

// isProven reports whether every key field that the item omits was set by the server to its
// default. This is certain if we own the item but not the field (edge case 3).
func isProven(item any, pe fieldpath.Element, set *fieldpath.Set) bool {
	child, ok := fieldpath.Below(set, pe)
	return ok && len(fieldpath.Unproven(item, pe, child)) == 0
}

type settler struct {
	*evaluation
	path    fieldpath.Path
	matched int
}

func (s *settler) othersBelow() bool {
	for _, e := range s.others {
		set := e.Fields
		for _, pe := range s.path {
			if set, _ = fieldpath.Below(set, pe); set == nil {
				break
			}
		}
		if set != nil {
			return true
		}
	}
	return false
}

func (s *settler) othersHold() bool {
	for _, e := range s.others {
		if fieldpath.Touches(e.Fields, s.path) {
			return true
		}
	}
	return false
}

// sameSort reports whether both values are maps or both are lists. Another manager may have changed
// the type of the value, which we cannot know without a schema.
func sameSort(a, b any) bool {
	_, aMap := a.(map[string]any)
	_, bMap := b.(map[string]any)
	_, aList := a.([]any)
	_, bList := b.([]any)
	return aMap && bMap || aList && bList
}

// wholeByType compares a map or list by its schema. sure is false if the type is unknown or does
// not show whether the value stays the same.
func (s *settler) wholeByType(v, live any) (same, sure bool) {
	if s.types == nil || !covers(live, v) {
		return false, false
	}
	schema := s.types.At(s.path)
	relation := openapi.RelationOf(schema)
	_, isList := v.([]any)
	if isList && s.types.IsDeduced(s.path) {
		relation = openapi.Atomic
	}
	switch relation {
	case openapi.Granular:
		// A granular map is a leaf of our set only if it was empty when we applied it. The server
		// or other managers may have filled it since. A granular list is a leaf only if it was
		// atomic or null when we applied it, or if the entry was edited by hand.
		return fieldpath.IsEmpty(v) && sameSort(v, live) && (!isList || fieldpath.IsEmpty(live)), true
	case openapi.Atomic:
		if s.othersBelow() {
			return false, true
		}
		return fieldpath.Equal(v, live) || completes(v, live, schema) && !s.othersHold(), true
	case openapi.Unknown:
	}
	return false, false
}

// leftOut reports whether the live object lacks a zero or empty value of the manifest only because
// the server omits it, as in Kubernetes' own kinds. The proof is that our set still contains the
// path: if another manager had removed the field, we would have lost the path. Fields that the
// server never omits are excluded, because such a field is absent if we last applied null. An empty
// granular list is never in the set.
func (s *settler) leftOut(v any, member bool) bool {
	list, isList := v.([]any)
	if s.types == nil || v == nil || !isZero(v) || !member && !isList || !s.compiledIn() || s.othersHold() {
		return false
	}
	schema := s.types.At(s.path)
	if isList && len(list) == 0 && !member {
		return openapi.RelationOf(schema) == openapi.Granular
	}
	return openapi.MayBe(schema, v) && !s.isWritten() // The server refuses a value of another type.
}

func (s *settler) compiledIn() bool { return s.types.BuiltIn() || s.isDefinition() }

func (s *settler) isDefinition() bool {
	root := s.types.At(nil)
	return root != nil && strings.HasPrefix(root.Name(), definitionTypes)
}

func (s *settler) isWritten() bool {
	if s.isDefinition() {
		last := s.path[len(s.path)-1]
		return last.FieldName == nil || isWrittenInDefinitions(*last.FieldName)
	}
	if parent := s.types.At(s.path[:len(s.path)-1]); parent != nil {
		switch parent.Name() + s.path[len(s.path)-1:].String() {
		case "io.k8s.api.core.v1.PodSpec.nodeSelector", "io.k8s.api.core.v1.ServiceSpec.selector":
			return false // Other types have a pointer field with the same name and parent name.
		}
	}
	return isWritten(s.path)
}

// nullByType reports whether the server turns null into the live value in one of Kubernetes' own
// kinds. The live value is then the default of the field, or an empty map if the field is not a
// pointer in the Go type.
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

// scalarByType reports whether both values are spellings of one quantity and the field has no other
// owner. If it has another owner, a different spelling would be a conflict.
func (s *settler) scalarByType(v, live any) bool {
	return s.types != nil && sameQuantity(v, live) && isQuantity(s.types.At(s.path)) && !s.othersHold()
}
