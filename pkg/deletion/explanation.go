package deletion

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/schedule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

const (
	// explainFor bounds one explanation.
	explainFor = 30 * time.Second
	// explainMost bounds the pause between two explanations of one object.
	explainMost = 2 * time.Minute
	// explainMany is how many objects of a phase are explained: of a thousand that wait for
	// the same thing, no one reads more.
	explainMany = 50
	// explainSide is how many are explained side by side.
	explainSide = 8
)

// explanation is what is known of why a target does not go.
type explanation struct {
	running bool
	// last is when it was explained; zero for never. pause comes before the next.
	last  time.Time
	pause time.Duration
	// causes are the latest; told is what was reported of them.
	causes []event.Cause
	told   schedule.Told
	// passed over, because there are too many.
	passed bool
	// lasting is since when each cause was found again and again that may end the wait.
	lasting map[string]time.Time
}

// endsFor takes in the latest causes, found at now while nothing had moved since moved. It
// returns the cause that has lasted long enough to end the wait, and else when the first of
// them will have; zero for never.
func (x *explanation) endsFor(ends func(event.Cause) time.Duration, moved, now time.Time) (over *event.Cause, next time.Time) {
	before := x.lasting
	x.lasting = map[string]time.Time{}
	for _, c := range x.causes {
		after := ends(c)
		if after <= 0 {
			continue
		}
		first, known := before[c.Code]
		if !known || first.Before(moved) {
			first = now
		}
		x.lasting[c.Code] = first
		due := first.Add(after)
		if !due.After(now) {
			return &c, next
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return nil, next
}

// next is when to explain a target of which nothing moves since then.
func (x *explanation) next(since time.Time, after time.Duration) time.Time {
	at := since.Add(after)
	if again := x.last.Add(x.pause); again.After(at) {
		return again
	}
	return at
}

// over tells that there is nothing to be had from explaining it now, when its time
// is over: it was explained since it last moved, or since then.
func (x *explanation) over(moved, due time.Time) bool {
	known := !x.last.IsZero() && (!x.last.Before(moved) || !x.last.Before(due))
	return !x.running && (x.passed || known)
}
