package setrun

import (
	"slices"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// Messages about a deleted member use the words of the verb delete, except that it is "pruned". An
// apply counts each such member.
func TestPrunedMembersUseActionsOfDelete(t *testing.T) {
	for _, action := range output.DeleteActions() {
		applied, reported := prunedOf(event.Deleted{Action: action})
		want := action
		if action == event.Gone {
			want = event.Pruned
		}
		switch {
		case action == event.Absent: // It is a member no longer.
			if reported {
				t.Errorf("%s is reported", action)
			}
		case !reported, applied.Action != want:
			t.Errorf("%s is reported (%t) as %s, want %s", action, reported, applied.Action, want)
		case !slices.Contains(output.ApplyActions(), want):
			t.Errorf("ApplyActions() does not contain %s", want)
		}
	}
}
