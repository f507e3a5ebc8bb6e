package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func (t *ownersTable) history(h event.History) string {
	var b strings.Builder
	if h.Err != nil {
		b.WriteString("history  not known\n")
		format.Below(&b, format.ErrorLines(h.Err, format.Columns(t.Width)), "    ", t.Width)
		return b.String()
	}
	b.WriteString("history\n")
	format.Below(&b, format.Coverage(h.Coverage, t.Now()), "    ", t.Width)
	if len(h.Transitions) == 0 {
		b.WriteString("  no takeovers recorded" + sinceFrom(h.From, t.Now()) + "\n")
	}
	for _, tr := range h.Transitions {
		b.WriteString("  " + text.Printable(tr.Path) + "\n")
		format.Below(&b, transitionLines(tr, t.Now()), "    ", t.Width)
	}
	for _, line := range format.Missing(h.Dropped, h.Lost) {
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
		lines := append([]string{message}, format.Coverage(c.Coverage, b.Now())...)
		for _, limit := range c.Limits {
			lines = append(lines, text.Printable(limit))
		}
		format.Below(&out, append(lines, format.Missing(c.Dropped, c.Lost)...), "", b.Width)
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
	return " since " + format.Moment(from, now)
}

func changeRow(c event.ObjectTransition) []string {
	cells := format.TransitionCells(c.Transition)
	how := cells[5]
	if cells[3] != "" {
		how += ", " + cells[3]
	}
	if c.Count > 1 {
		how += fmt.Sprintf(", %d times since %s", c.Count, format.Stamp(c.First))
	}
	if c.Gap {
		how += ", found after an unwatched period"
	}
	return []string{cells[0], format.Name(c.Ref), text.Printable(c.Path), cells[1], cells[2], cells[4], how}
}

func transitionLines(tr event.Transition, now time.Time) []string {
	message := []string{fmt.Sprintf("%s  from %s to %s", format.HowLast(tr), format.OwnerList(tr.From, now), format.OwnersAfter(tr, now))}
	if values := format.TransitionValues(tr); values != "" {
		message = append(message, "the value went "+values)
	}
	when := format.Moment(tr.Last, now)
	switch {
	case tr.Gap:
		when += ", found after an unwatched period"
	case tr.User != "":
		when += ", by the user " + text.Printable(tr.User)
	}
	message = append(message, when)
	if tr.Count > 1 {
		message = append(message, fmt.Sprintf("changed hands %d times between them since %s", tr.Count, format.Moment(tr.First, now)))
	}
	return message
}
