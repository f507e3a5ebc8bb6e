package wait

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/schedule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// hang is what is known of why an object makes no progress.
type hang struct {
	marks schedule.Marks
	told  schedule.Told
	// moved is when something was last seen to move, asked when it was asked why.
	moved, asked time.Time
	causes       []event.Cause
	// lasting are causes that may end the wait, each with the start of its unbroken row of
	// reports. decides: the question under way reads everything anew.
	lasting map[causeKey]time.Time
	decides bool
}

// outdated reports whether something moved since it was asked about.
func (h *hang) outdated() bool { return h.moved.After(h.asked) }

// confirms reports whether a cause was still so when its time was over. A controller's note proves
// it only if the controller has tried once more since: it tries ever more rarely, and its obstacle
// may be gone.
func (h *hang) confirms(c event.Cause, due time.Time) bool {
	return !c.Hearsay || !h.asked.Add(-c.Age).Before(due)
}

// causeKey tells causes apart that last.
type causeKey struct {
	code    string
	blocked object.Ref
}

func keyOf(c event.Cause) causeKey { return causeKey{c.Code, c.BlockedBy} }
