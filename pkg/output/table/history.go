package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const noOwner = "no owner"

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
		b.WriteString("  no takeovers recorded" + sinceFrom(h.From, t.Now()) + "\n")
	}
	for _, tr := range h.Transitions {
		b.WriteString("  " + text.Printable(tr.Path) + "\n")
		format.Below(&b, transitionLines(tr, t.Now()), "    ", t.Width)
	}
	for _, line := range missingLines(h.Dropped, h.Lost) {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// NewPastChanges returns the table of recorded changes to many objects, with a line for each change
// or, on a narrow terminal, a paragraph.
func NewPastChanges(b output.Base) output.Results {
	return output.Printed(b, func(c event.PastChanges) string {
		var out strings.Builder
		if len(c.Changes) > 0 {
			out.WriteString(changeRows(c.Changes, b.Width) + "\n")
		}
		message := text.Count(len(c.Changes), "change") + " of owners" + text.Printable(c.Where) + sinceFrom(c.From, b.Now())
		lines := append([]string{message}, coverageLines(c.Coverage, b.Now())...)
		for _, limit := range c.Limits {
			lines = append(lines, text.Printable(limit))
		}
		format.Below(&out, append(lines, missingLines(c.Dropped, c.Lost)...), "", b.Width)
		return out.String()
	})
}

func changeRows(changes []event.ObjectTransition, width func() int) string {
	rows := [][]string{{"TIME", "OBJECT", "PATH", "FROM", "TO", "USER", "CHANGE"}}
	for _, c := range changes {
		rows = append(rows, changeRow(c))
	}
	whole := format.Aligned(rows, nil)
	tooWide := func(line string) bool { return format.Cells(strings.TrimSuffix(line, "\n")) > format.Columns(width) }
	if width == nil || !slices.ContainsFunc(slices.Collect(strings.Lines(whole)), tooWide) {
		return whole
	}
	var out strings.Builder
	for _, row := range rows[1:] {
		format.Below(&out, []string{strings.Join(row[:3], "  ")}, "", width)
		format.Below(&out, []string{row[6], "from " + row[3] + " to " + row[4] + "; user: " + row[5]}, "    ", width)
	}
	return out.String()
}

func sinceFrom(from, now time.Time) string {
	if from.IsZero() {
		return ""
	}
	return " since " + moment(from, now)
}

func changeRow(c event.ObjectTransition) []string {
	how := howLast(c.Transition)
	if values := valuesText(c.Transition); values != "" {
		how += ", " + values
	}
	if c.Count > 1 {
		how += fmt.Sprintf(", %d times since %s", c.Count, format.Stamp(c.First))
	}
	if c.Gap {
		how += ", found after an unwatched period"
	}
	return []string{
		format.Stamp(c.Last), format.Name(c.Ref), text.Printable(c.Path), cmp.Or(format.OwnerList(c.From, time.Time{}), noOwner),
		ownersAfter(c.Transition, time.Time{}), cmp.Or(text.Printable(c.User), "unknown"), how,
	}
}

func ownersAfter(tr event.Transition, now time.Time) string {
	to := cmp.Or(format.OwnerList(tr.To, now), noOwner)
	if tr.Cut {
		to += ", and more owners"
	}
	return to
}

func valuesText(tr event.Transition) string {
	if tr.FromValue == "" {
		return ""
	}
	return "from " + text.Printable(tr.FromValue) + " to " + text.Printable(tr.ToValue)
}

func howLast(tr event.Transition) string {
	how := text.Printable(tr.Kind)
	if tr.Forced {
		how += " by force"
	}
	return how
}

func missingLines(dropped, lost int) (message []string) {
	if dropped > 0 {
		message = append(message, text.Count(dropped, "older transition")+" did not fit into the record")
	}
	if lost > 0 {
		message = append(message, text.Count(lost, "transition")+" could not be recorded by the webhook")
	}
	return message
}

// coverageLines says when the webhook was watching, because changes at other times may be missing.
func coverageLines(c event.Coverage, now time.Time) []string {
	if c.Since.IsZero() {
		return []string{"start of the watch unknown: " + text.Printable(c.Unknown)}
	}
	message := []string{"watched since " + moment(c.Since, now)}
	for _, gap := range c.Gaps {
		message = append(message, "the history may be incomplete from "+format.Stamp(gap.From)+" to "+moment(gap.To, now))
	}
	if c.Behind != nil {
		message = append(message, text.Count(c.Behind.Changes, "change")+" in this cluster not recorded yet, the oldest waiting since "+moment(c.Behind.Since, now))
	}
	if c.Stale {
		message = append(message, "no progress recorded since "+moment(c.Until, now)+"; is the webhook running?")
	}
	return message
}

func transitionLines(tr event.Transition, now time.Time) []string {
	message := []string{fmt.Sprintf("%s  from %s to %s", howLast(tr), format.OwnerList(tr.From, now), ownersAfter(tr, now))}
	if values := valuesText(tr); values != "" {
		message = append(message, "the value went "+values)
	}
	when := moment(tr.Last, now)
	switch {
	case tr.Gap:
		when += ", found after an unwatched period"
	case tr.User != "":
		when += ", by the user " + text.Printable(tr.User)
	}
	message = append(message, when)
	if tr.Count > 1 {
		message = append(message, fmt.Sprintf("changed hands %d times between them since %s", tr.Count, moment(tr.First, now)))
	}
	return message
}

func moment(at, now time.Time) string { return format.Moment(at, now) }
