package rollouts

import (
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// One recorded write dates the change even if its manager is not known, as after an undo that only removes
// a field. Several writes of one user do not.
func TestUserHasTheTimeOfTheWrite(t *testing.T) {
	at := time.Date(2026, 3, 1, 2, 14, 0, 0, time.UTC)
	for n, want := range map[int]time.Time{1: at, 2: {}} {
		writes := make([]event.Rollout, n)
		for i := range writes {
			writes[i] = event.Rollout{Time: at, User: "bob"}
		}
		changes := []event.RevisionChange{{}}
		name(changes, writes)
		if got := changes[0]; got.User != "bob" || got.Time != want || got.Writer != nil {
			t.Errorf("%d writes: %+v", n, got)
		}
	}
}
