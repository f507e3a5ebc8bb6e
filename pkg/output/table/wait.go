package table

import (
	"context"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type waitTable struct {
	output.Base
	waited output.PlanOrdered[event.Waited]
	quiet  bool
	runs   map[object.Key][]event.Image
}

// NewWait returns the table of a wait.
func NewWait(b output.Base) output.Results {
	return &waitTable{Base: b, runs: map[object.Key][]event.Image{}}
}

// NewUnmet returns the table of objects that did not meet their conditions.
func NewUnmet(b output.Base) output.Results {
	return &waitTable{Base: b, quiet: true, runs: map[object.Key][]event.Image{}}
}

func (t *waitTable) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Waited:
		if e.Action != event.Met || e.Note != "" || !t.quiet && t.listed() {
			t.waited.Add(t.State.Place(e.Ref), e)
		}
	case event.Runs:
		t.runs[e.Ref.Key()] = e.Images
	}
}

func (t *waitTable) listed() bool { return t.Verbose || t.State.Total <= oneScreen }

func (t *waitTable) Finish(context.Context) error {
	var b strings.Builder
	var bad []event.Waited
	for _, w := range t.waited.Drain() {
		switch {
		case w.Action != event.Met:
			bad = append(bad, w)
		case !t.quiet && (t.listed() || w.Note != ""):
			waitedLine(t.Base, &b, w, len(event.TimedOut))
			format.Below(&b, imageLines(t.Base, t.runs[w.Ref.Key()]), "    ", t.Width)
		}
	}
	unmetLines(t.Base, &b, bad, len(event.TimedOut))
	b.WriteString(waitSummary(t.State) + "\n")
	t.Screen.Result(b.String())
	return nil
}

func imageLines(b output.Base, images []event.Image) []string {
	var lines []string
	for _, i := range images {
		lines = append(lines, format.Image(i, b.Now()))
	}
	return lines
}

func waitedLine(b output.Base, text *strings.Builder, w event.Waited, width int) {
	text.WriteString(b.Paint.Action(w.Action, format.Pad(string(w.Action), width)) + "  " + format.Name(w.Ref))
	if note := strings.Join(format.Lines(w.Note), "; "); note != "" {
		text.WriteString(": " + note)
	}
	text.WriteString("\n")
	format.Below(text, waitedLines(b, w, format.Within(b.Width, "    ")), "    ", b.Width)
}

func waitedLines(b output.Base, w event.Waited, columns int) []string {
	if w.Action == event.Met {
		return nil
	}
	var text []string
	if !isOfCondition(w) {
		text = b.Hints.ErrorLines(w.Err, columns)
	}
	if w.Action != event.Gone && w.Action != event.Unselected {
		conditions := w.Conditions
		if !b.Verbose && slices.ContainsFunc(w.Causes, func(c event.Cause) bool { return !c.Doubt && !c.Passing }) {
			conditions = withoutRepetition(conditions)
		}
		text = append(text, conditionLines(b, conditions, columns)...)
	}
	return append(text, format.Causes(brief(b, w.Causes))...)
}

// withoutRepetition removes details that a cause explains better. It keeps the values that the
// user's own conditions read.
func withoutRepetition(conditions []event.Condition) []event.Condition {
	conditions = slices.Clone(conditions)
	for i, c := range conditions {
		conditions[i].Message, _, _ = strings.Cut(c.Message, "; Pods cannot be created")
		if c.For == "ready" && conditions[i].Message != "" {
			conditions[i].Values = nil
		}
	}
	return conditions
}

func brief(b output.Base, causes []event.Cause) []event.Cause {
	if b.Verbose {
		return causes
	}
	return format.Brief(causes)
}

func isOfCondition(w event.Waited) bool {
	return w.Err != nil && slices.ContainsFunc(w.Conditions, func(c event.Condition) bool {
		return isListed(c) && c.Err != nil && c.Err.Error() == w.Err.Error()
	})
}

func isListed(c event.Condition) bool { return c.Met == c.Forbidden && c.Reason != "NotFound" }

func conditionLines(b output.Base, conditions []event.Condition, columns int) []string {
	var text []string
	for _, c := range conditions {
		if !isListed(c) {
			continue
		}
		text = append(text, conditionHead(b, c, columns)...)
		for _, v := range c.Values {
			for _, line := range valueLines(v, max(0, columns-len("  "))) {
				text = append(text, "  "+line)
			}
		}
	}
	return text
}

func conditionHead(b output.Base, c event.Condition, columns int) []string {
	if lines := b.Hints.ErrorLines(c.Err, columns); len(lines) > 0 {
		return append([]string{"could not tell " + text.Printable(c.For) + ": " + lines[0]}, lines[1:]...)
	}
	head := "not " + text.Printable(c.For)
	if c.Forbidden {
		head = text.Printable(c.For)
	}
	if message := strings.Join(format.Lines(c.Message), " "); message != "" && message != "false: "+text.Printable(c.For) {
		head += ": " + message
	}
	return []string{head}
}

func valueLines(v event.Value, columns int) []string {
	expr := text.Printable(v.Expr)
	if v.Absent {
		return []string{expr + "  (absent)"}
	}
	text := format.Shorten(format.Value(v.Value))
	if columns <= 0 || format.Cells(expr+"  "+text) <= columns {
		return []string{expr + "  " + text}
	}
	return []string{expr, "  " + format.CutMiddle(text, max(columns-len("  "), format.LeastValue))}
}
