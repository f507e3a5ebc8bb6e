package rollouts

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// step is a way from the template of one revision to that of the next.
type step struct{ before, after string }

// chain is a sequence of recorded writes in which each begins with the template that the one before
// it left, from first to last.
type chain struct{ first, last int }

// sent sets writers and users from the recorded writes of the template. The controller turns the
// writes, in order, into revisions, but may skip a template that is replaced at once. So the writes
// that led to a revision are a chain from the template before it to its own, through none that is a
// revision itself. If all have one author, the author made all changes.
func sent(revisions []event.Revision, states []state, recorded []event.Rollout, uid types.UID) {
	digests, rolled := make([]string, len(states)), map[string]bool{}
	for i := range states {
		digests[i] = ownership.TemplateDigest(uid, states[i].template)
		rolled[digests[i]] = true
	}
	begins := len(recorded) // the first write that led to the next revision; -1 if unknown
	for i := len(states) - 1; i > 0; i-- {
		var c chain
		ok := false
		if number := states[i].revision.Number; number <= states[i-1].revision.Number+1 { // Otherwise, those between are not known.
			all := chainsOf(step{digests[i-1], digests[i]}, recorded, rolled)
			c, ok = matched(states[i-1], states[i], recorded, all, begins)
		}
		if begins = -1; ok {
			name(revisions[i].Changes, recorded[c.first:c.last+1])
			begins = c.first
		}
	}
}

// matched returns the chain that led to a revision.
//
// The period of a revision ends when its object was created. After another write in the period, the
// template may have come back by one that is not recorded. The period of an undo has no known end: the
// chain must then end where that of the next revision begins.
func matched(before, after state, recorded []event.Rollout, all []chain, begins int) (found chain, ok bool) {
	from, to := window(before, after)
	undone := undone(after)
	n := 0
	for _, c := range all {
		if recorded[c.first].Time.Before(from) || recorded[c.last].Time.After(to) || undone && c.last+1 != begins {
			continue
		}
		found = c
		n++
	}
	next := found.last + 1
	return found, n == 1 && (undone || next == len(recorded) || !recorded[next].Time.Before(to))
}

func chainsOf(s step, recorded []event.Rollout, rolled map[string]bool) (out []chain) {
	for first := range recorded {
		if recorded[first].Before != s.before {
			continue
		}
		for last := first; ; last++ {
			if recorded[last].After == s.after {
				out = append(out, chain{first, last})
				break
			}
			if last+1 == len(recorded) || rolled[recorded[last].After] || recorded[last+1].Before != recorded[last].After {
				break
			}
		}
	}
	return out
}

// name names the author of all changes, if the writes have only one.
func name(changes []event.RevisionChange, writes []event.Rollout) {
	last := writes[len(writes)-1]
	user, writer, at := last.User, last.Writer, last.Time
	for _, one := range writes {
		if one.User != user {
			user = ""
		}
		if writer != nil && (one.Writer == nil || !one.Writer.SameEntry(*writer)) {
			writer = nil
		}
	}
	if len(writes) > 1 {
		at = time.Time{}
	}
	for i := range changes {
		c := &changes[i]
		if user != "" {
			c.User = user
			if !at.IsZero() { // One write, whether its manager is known or not.
				c.Time = at
			}
		}
		if writer != nil {
			c.Writer, c.Time = writer, at
		}
	}
}
