package table

import (
	"context"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
)

// waitTable is what a person reads: one line an object; below those that are not
// met what their conditions read, and the causes.
type waitTable struct {
	output.Base
	waited output.PlanOrdered[event.Waited]
	// quiet: what was met is told in another way.
	quiet bool
}

// NewWait returns the table of a wait.
func NewWait(b output.Base) output.Results { return &waitTable{Base: b} }

// NewUnmet returns the table of what was not met.
func NewUnmet(b output.Base) output.Results { return &waitTable{Base: b, quiet: true} }

func (t *waitTable) Take(e event.Event) {
	if w, ok := e.(event.Waited); ok {
		t.waited.Add(t.State.Place(w.Ref), w)
	}
}

func (t *waitTable) Flush() {}

func (t *waitTable) Finish(context.Context) error {
	var b strings.Builder
	var bad []event.Waited
	listed := t.Verbose || t.State.Total <= oneScreen
	for _, w := range t.waited.Drain() {
		switch {
		case w.Action != event.Met:
			bad = append(bad, w)
		case !t.quiet && (listed || w.Note != ""):
			waitedLine(t.Base, &b, w, len(event.TimedOut))
		}
	}
	for _, w := range bad {
		waitedLine(t.Base, &b, w, len(event.TimedOut))
	}
	b.WriteString(waitSummary(t.State) + "\n")
	t.Screen.Result(b.String())
	return nil
}

// waitedLine writes an object, and what it lacks. width is that of the first column.
func waitedLine(b output.Base, text *strings.Builder, w event.Waited, width int) {
	text.WriteString(b.Paint.Action(w.Action, layout.Pad(string(w.Action), width)) + "  " + phrase.Name(w.Ref))
	if note := strings.Join(layout.Lines(w.Note), "; "); note != "" {
		text.WriteString(": " + note)
	}
	text.WriteString("\n")
	layout.Below(text, waitedLines(w, layout.Within(b.Width, "    ")), "    ", b.Width)
}

// waitedLines are what there is to say of an object that is not met.
func waitedLines(w event.Waited, room int) []string {
	if w.Action == event.Met {
		return nil
	}
	text := phrase.ErrorLines(w.Err, room)
	if w.Action != event.Gone && w.Action != event.Unselected {
		text = append(text, conditionLines(w.Conditions, room)...)
	}
	return append(text, phrase.Causes(w.Causes)...)
}
