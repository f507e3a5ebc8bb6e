package table

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// applyTable prints one line for each object, with notes below. Failures come at the end of their
// phase and conflicts at the end of the table, where readers look for them.
type applyTable struct {
	output.Base
	// lines are the lines of finished objects, kept instead of thousands of events to save memory.
	// Other results are grouped at the end of their phase.
	lines     output.PlanOrdered[string]
	undone    output.PlanOrdered[event.Applied]
	conflicts output.PlanOrdered[event.Applied]
	unmet     output.PlanOrdered[event.Waited] // of awaited objects
	back      rollback
	contested map[int]bool // phases with conflicts
	changed   map[int]bool // phases with writes
	written   bool         // there are lines above
	takeovers takeovers
	left      leftOver
}

// NewApply returns the table of an apply.
func NewApply(b output.Base) output.Results {
	return &applyTable{Base: b, contested: map[int]bool{}, changed: map[int]bool{}, takeovers: takeovers{}, left: leftOver{}}
}

func (t *applyTable) Handle(e event.Event) {
	if waited, ok := e.(event.Waited); ok && waited.Action != event.Met {
		t.unmet.Add(t.State.Place(waited.Ref), waited)
	}
	t.back.handle(t.State, e)
	applied, ok := e.(event.Applied)
	if !ok {
		return
	}
	t.takeovers.add(applied.Adopted)
	t.left.add(applied.Left)
	at := t.State.Place(applied.Ref)
	if !applied.DryRun && slices.Contains([]event.Action{event.Created, event.Configured, event.Recreated}, applied.Action) {
		t.changed[at.Phase] = true
	}
	switch {
	case applied.Action == event.InConflict:
		t.conflicts.Add(at, applied)
		t.contested[at.Phase] = true
	case !t.listed(applied):
	case slices.Contains([]event.Action{event.Skipped, event.Kept, event.Failed, event.Unknown}, applied.Action):
		t.undone.Add(at, applied)
	default:
		var b strings.Builder
		applyLine(t.Base, &b, applied.Action, t.name(applied), details(t.Base, applied, format.Within(t.Width, "    ")))
		t.lines.Add(at, b.String())
	}
}

// listed reports whether an object gets a line. An unchanged object without news is only counted;
// paths that it still yields are not news.
func (t *applyTable) listed(a event.Applied) bool {
	quiet := a.Action == event.Unchanged || a.Action == event.Shared || a.OnlyOwners
	if !quiet || t.Verbose || a.Reason != "" || a.Joined != nil {
		return true
	}
	a.Yielded = nil
	return len(details(t.Base, a, 0)) > 0
}

func (t *applyTable) Flush() {
	var b strings.Builder
	for _, line := range t.lines.Drain() {
		b.WriteString(line)
	}
	left := map[event.Action][]event.Applied{}
	var failed []event.Applied
	for _, a := range t.undone.Drain() {
		switch a.Action {
		case event.Skipped:
			left[a.Action] = append(left[a.Action], a)
		case event.Kept:
			a.Err, a.Reason = errors.New(a.Reason), ""
			left[a.Action] = append(left[a.Action], a)
		default:
			failed = append(failed, a)
		}
	}
	for _, action := range []event.Action{event.Kept, event.Skipped} {
		skipped[event.Applied]{
			why: func(a event.Applied) error { return a.Err },
			one: func(a event.Applied, reason string) {
				applyLine(t.Base, &b, action, t.name(a)+reason, details(t.Base, a, format.Within(t.Width, "    ")))
			},
			many: func(count, reason string) { applyLine(t.Base, &b, action, count+reason, nil) },
		}.print(t.Base, left[action])
	}
	t.failed(&b, failed)
	t.written = t.written || b.Len() > 0
	t.Screen.Result(b.String())
}

// failed writes a line for each object, and the error once below each group of objects that share
// it.
func (t *applyTable) failed(b *strings.Builder, failed []event.Applied) {
	for _, group := range sameFault(failed, func(a event.Applied) error { return a.Err }) {
		for i, a := range group {
			room := format.Within(t.Width, "    ")
			below := details(t.Base, a, room)
			if i == len(group)-1 {
				below = append(format.Wrap(t.Hints.ErrorLines(commonFault(a.Err, len(group)), room), room), below...)
			}
			applyLine(t.Base, b, a.Action, t.name(a), below)
		}
	}
}

func (t *applyTable) Finish(context.Context) error {
	var b strings.Builder
	if conflicts := t.conflicts.Drain(); len(conflicts) > 0 {
		if t.written {
			b.WriteString("\n")
		}
		report(t.Base, &b, conflicts, nothingWritten(t.Base, t.contested, t.changed))
		b.WriteString("\n")
	}
	for _, w := range t.unmet.Drain() {
		waitedLine(t.Base, &b, w, actionWidth)
	}
	t.back.write(t.Base, &b, t.written || b.Len() > 0)
	for _, line := range slices.Concat(t.takeovers.lines(t.DryRun), t.left.lines()) {
		b.WriteString(line + "\n")
	}
	b.WriteString(applySummary(t.State, t.Options) + t.back.summary() + "\n")
	t.Screen.Result(b.String())
	return nil
}

func (t *applyTable) name(a event.Applied) string {
	said := format.Name(a.Ref)
	switch {
	case !a.DryRun || a.Action == event.Failed || a.Action == event.Skipped:
	case t.Unasked:
		said += " (client dry run)"
	default:
		said += " (dry run)"
	}
	if a.Action == event.Failed && a.Source.File != "" {
		said += "  " + t.Paint.Faint.Sprint("("+text.Printable(a.Source.String())+")")
	}
	if a.Sharing != nil {
		said += "  " + t.Paint.Faint.Sprint("("+text.Printable(a.Sharing.String())+")")
	}
	if a.Joined != nil {
		said += "  " + t.Paint.Faint.Sprint("("+text.Printable(joined(a))+")")
	}
	if reason := strings.Join(format.Lines(a.Reason), "; "); reason != "" {
		said += ": " + reason
	}
	return said
}
