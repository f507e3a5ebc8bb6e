package noop

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"

// settler is the state of the walk at one path, shared by all comparisons.
type settler struct {
	*evaluation
	// path is that of the current value.
	path fieldpath.Path
	// matched counts the paths of the set that the manifest has confirmed.
	matched int
}

// othersBelow reports whether another manager holds a path below the current one.
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

// sameSort reports whether both are maps, or both are lists. If the schema does not say
// what a field is, others may have given it another type.
func sameSort(a, b any) bool {
	_, aMap := a.(map[string]any)
	_, bMap := b.(map[string]any)
	_, aList := a.([]any)
	_, bList := b.([]any)
	return aMap && bMap || aList && bList
}
