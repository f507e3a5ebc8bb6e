package table

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// noOwner stands for the owner of a field without one that could have one.
const noOwner = "no owner"

// history lists the paths that changed owners, the latest last, and since when that is recorded.
func (t *ownersTable) history(h event.History) string {
	var b strings.Builder
	if h.Err != nil {
		b.WriteString("history  not known\n")
		format.Below(&b, format.ErrorLines(h.Err, format.Columns(t.Width)), "    ", t.Width)
		return b.String()
	}
	b.WriteString("history\n")
	format.Below(&b, coverageLines(h.Coverage, t.Now()), "    ", t.Width)
	if len(h.Transitions) == 0 {
		b.WriteString("  no takeover is recorded\n")
	}
	for _, tr := range h.Transitions {
		b.WriteString("  " + text.Printable(tr.Path) + "\n")
		format.Below(&b, transitionLines(tr, t.Now()), "    ", t.Width)
	}
	if h.Dropped > 0 {
		b.WriteString("  " + text.Count(h.Dropped, "older transition") + " did not fit into the record\n")
	}
	if h.Lost > 0 {
		b.WriteString("  " + text.Count(h.Lost, "transition") + " the webhook could not record\n")
	}
	return b.String()
}

// coverageLines says when the webhook was watching, since changes outside that time may be missing.
func coverageLines(c event.Coverage, now time.Time) []string {
	if c.Since.IsZero() {
		return []string{"watched since an unknown time: " + text.Printable(c.Unknown)}
	}
	said := []string{"watched since " + moment(c.Since, now)}
	for _, gap := range c.Gaps {
		said = append(said, "not every change is known from "+format.Stamp(gap.From)+" to "+moment(gap.To, now))
	}
	if c.Behind > 0 {
		said = append(said, text.Count(c.Behind, "change")+" in this cluster not recorded yet, the oldest since "+moment(c.BehindSince, now))
	}
	if c.Stale {
		said = append(said, "nothing noted down since "+moment(c.Until, now)+"; does the webhook run?")
	}
	return said
}

func transitionLines(tr event.Transition, now time.Time) []string {
	to := format.OwnerList(tr.To, now)
	if len(tr.To) == 0 {
		to = noOwner
	}
	if tr.Cut {
		to += ", and more owners"
	}
	what := text.Printable(tr.Kind)
	if tr.Forced {
		what += " by force"
	}
	said := []string{fmt.Sprintf("%s  from %s to %s", what, format.OwnerList(tr.From, now), to)}
	when := moment(tr.Last, now)
	switch {
	case tr.Gap:
		when += ", found after a period that was not watched"
	case tr.User != "":
		when += ", by the user " + text.Printable(tr.User)
	}
	said = append(said, when)
	if tr.Count > 1 {
		said = append(said, fmt.Sprintf("changed hands %d times between them since %s", tr.Count, moment(tr.First, now)))
	}
	return said
}

// moment formats a time with its age: one for logs, the other for people.
func moment(at, now time.Time) string {
	return format.Stamp(at) + " (" + duration.ShortHumanDuration(max(0, now.Sub(at))) + " ago)"
}
