package ownership_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// One replica reports a transition without values, and another reports it with the verdict from the
// values. In either order, the transition gets the verdict and is counted once.
func TestVerdictReportedLater(t *testing.T) {
	as := func(kind ownership.Kind, minutes int) (ownership.Transition, ownership.Occasion) {
		tr := taken("a", "flux", "argo")
		tr.Kind, tr.Forced = kind, kind == ownership.Taken
		at := minute(minutes)
		if kind != ownership.Lost {
			at.User = "alice"
		}
		return tr, at
	}
	type report struct {
		kind   ownership.Kind
		minute int
	}
	tests := map[string]struct {
		reports []report
		want    []string
	}{
		"lost, then taken":                               {[]report{{ownership.Lost, 0}, {ownership.Taken, 0}}, []string{"taken ×1 true alice"}},
		"taken, then lost":                               {[]report{{ownership.Taken, 0}, {ownership.Lost, 0}}, []string{"taken ×1 true alice"}},
		"lost, then released":                            {[]report{{ownership.Lost, 0}, {ownership.Released, 0}}, []string{"released ×1 false alice"}},
		"taken, and lost a minute later":                 {[]report{{ownership.Taken, 0}, {ownership.Lost, 1}}, []string{"lost ×2 false "}},
		"taken twice, the second first reported as lost": {[]report{{ownership.Taken, 0}, {ownership.Lost, 1}, {ownership.Taken, 1}}, []string{"taken ×2 true alice"}},
		"lost twice, the first reported as taken":        {[]report{{ownership.Lost, 0}, {ownership.Lost, 1}, {ownership.Taken, 0}}, []string{"lost ×2 false "}},
		"released and taken":                             {[]report{{ownership.Released, 0}, {ownership.Taken, 1}}, []string{"released ×1 false alice", "taken ×1 true alice"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r ownership.Record
			for _, report := range tt.reports {
				r.Add(as(report.kind, report.minute))
			}
			var got []string
			for _, e := range r.Entries {
				got = append(got, fmt.Sprintf("%s ×%d %v %s", e.Kind, e.Count, e.Forced, e.User))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}
