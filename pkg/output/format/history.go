package format

import (
	"cmp"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NoOwner stands for the owners of a field that has none.
const NoOwner = "no owner"

// TransitionCells returns a recorded change as cells: the time of its last occurrence, the owners
// before and after, the values, the user, and how it happened.
func TransitionCells(tr event.Transition) []string {
	return []string{
		Stamp(tr.Last), ownersBefore(tr), OwnersAfter(tr, time.Time{}), TransitionValues(tr), cmp.Or(text.Printable(tr.User), "unknown"), HowLast(tr),
	}
}

// TransitionOwners returns the owners before and after a recorded change.
func TransitionOwners(tr event.Transition) string {
	return "from " + ownersBefore(tr) + " to " + OwnersAfter(tr, time.Time{})
}

func ownersBefore(tr event.Transition) string {
	return cmp.Or(OwnerList(tr.From, time.Time{}), NoOwner)
}

// OwnersAfter returns the owners after a recorded change.
func OwnersAfter(tr event.Transition, now time.Time) string {
	to := cmp.Or(OwnerList(tr.To, now), NoOwner)
	if tr.Cut {
		to += ", and more owners"
	}
	return to
}

// TransitionValues returns the values before and after a recorded change; empty if not recorded.
func TransitionValues(tr event.Transition) string {
	if tr.FromValue == "" {
		return ""
	}
	return "from " + text.Printable(tr.FromValue) + " to " + text.Printable(tr.ToValue)
}

// HowLast returns how the last occurrence of a recorded change happened.
func HowLast(tr event.Transition) string {
	how := text.Printable(tr.Kind)
	if tr.Forced {
		how += " by force"
	}
	return how
}

// Missing returns lines about changes that the records lack.
func Missing(dropped, lost int) (message []string) {
	if dropped > 0 {
		message = append(message, text.Count(dropped, "older transition")+" did not fit into the record")
	}
	if lost > 0 {
		message = append(message, text.Count(lost, "transition")+" could not be recorded by the webhook")
	}
	return message
}

// Coverage returns lines about when the webhook was watching, because changes at other times may be
// missing.
func Coverage(c event.Coverage, now time.Time) []string {
	if c.Since.IsZero() {
		return []string{"start of the watch unknown: " + text.Printable(c.Unknown)}
	}
	message := []string{"watched since " + Moment(c.Since, now)}
	for _, gap := range c.Gaps {
		message = append(message, "the history may be incomplete from "+Stamp(gap.From)+" to "+Moment(gap.To, now))
	}
	if c.Behind != nil {
		message = append(message, text.Count(c.Behind.Changes, "change")+" in this cluster not recorded yet, the oldest waiting since "+Moment(c.Behind.Since, now))
	}
	if c.Stale {
		message = append(message, "no progress recorded since "+Moment(c.Until, now)+"; is the webhook running?")
	}
	return message
}
