package tracker

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The history of a new object in a list is unknown, since the object may have been created and
// taken while the watch was broken. If a list equals the remembered state, nothing happened.
func TestNewObjectInList(t *testing.T) {
	tests := map[string]struct {
		then []*metav1.PartialObjectMetadata
		gaps int
	}{
		"the same":         {[]*metav1.PartialObjectMetadata{fields("a", 5, "argo")}, 0},
		"a new object":     {[]*metav1.PartialObjectMetadata{fields("a", 5, "argo"), fields("b", 15, "flux")}, 1},
		"a deleted object": {nil, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(position{"9", noon})
			s.resume(s.w)
			s.take(s.onObject(s.w, fields("a", 5, "argo"), true, s.now))
			s.resumed(s.w)
			s.lead(true, s.now)
			s.list(20, tt.then...)
			if gaps, blind := s.openGaps(); len(gaps) != tt.gaps || blind != (tt.gaps > 0) {
				t.Errorf("%d gaps, blind %t, want %d", len(gaps), blind, tt.gaps)
			}
		})
	}
}
