package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const deletedWidth = len(event.Remains)

type deleteTable struct {
	output.Base
	done     doneLines
	failed   output.PlanOrdered[event.Deleted]
	skipped  output.PlanOrdered[event.Deleted]
	remains  output.PlanOrdered[event.Deleted]
	pointed  int // counts printed hints
	reported func(event.Deleted) bool
}

// NewDelete returns the table of a delete. The function reported reports whether the cause of a stuck
// object was already printed; if it is nil, the table prints all causes.
func NewDelete(b output.Base, reported func(event.Deleted) bool) output.Results {
	return &deleteTable{Base: b, done: doneLines{Base: b}, reported: reported}
}

func (t *deleteTable) Handle(e event.Event) {
	d, ok := e.(event.Deleted)
	if !ok {
		return
	}
	at := t.State.Place(d.Ref)
	switch d.Action { // All other results need no explanation.
	case event.Remains:
		t.remains.Add(at, d)
	case event.Skipped, event.Kept:
		t.skipped.Add(at, d)
	case event.Failed, event.Unknown:
		t.failed.Add(at, d)
	default:
		var b strings.Builder
		t.line(&b, d)
		t.done.add(d.Action, d.Ref, b.String(), d.Reason != "" || d.Err != nil)
	}
}

func (t *deleteTable) Flush() {
	var b strings.Builder
	t.done.write(&b, deletedWidth)
	why := func(d event.Deleted) error { return d.Err }
	for _, group := range sameFault(t.failed.Drain(), why) {
		fault := commonFault(group[0].Err, len(group))
		shown := someOf(t.Base, group)
		for i, d := range shown {
			if d.Err = nil; i == len(group)-1 {
				d.Err = fault
			}
			t.line(&b, d)
		}
		if more := len(group) - len(shown); more > 0 {
			b.WriteString(t.actionWord(group[0].Action) + "  " + moreOf(more) + "\n")
			format.Below(&b, t.Hints.ErrorLines(fault, format.Columns(t.Width)), "    ", t.Width)
		}
	}
	t.spared(&b, t.skipped.Drain(), why)
	t.Screen.Result(b.String())
}

func (t *deleteTable) spared(b *strings.Builder, all []event.Deleted, why func(event.Deleted) error) {
	of := map[event.Action][]event.Deleted{}
	for _, d := range all {
		if d.Action == event.Kept {
			d.Err = errors.New(d.Reason)
		}
		of[d.Action] = append(of[d.Action], d)
	}
	for _, action := range []event.Action{event.Kept, event.Skipped} {
		skipped[event.Deleted]{
			why: why,
			one: func(d event.Deleted, reason string) {
				b.WriteString(t.actionWord(action) + "  " + format.Name(d.Ref) + reason + "\n")
			},
			many: func(count, reason string) { b.WriteString(t.actionWord(action) + "  " + count + reason + "\n") },
		}.print(t.Base, of[action])
	}
}

func (t *deleteTable) actionWord(a event.Action) string {
	return t.Paint.Action(a, format.Pad(string(a), deletedWidth))
}

func (t *deleteTable) line(b *strings.Builder, d event.Deleted) {
	b.WriteString(t.actionWord(d.Action) + "  " + deletedName(d))
	if d.Action == event.Remains {
		b.WriteString(format.TerminatingFor(d.Since, t.Now()))
	}
	if (d.Action == event.Failed || d.Action == event.Unknown) && d.Source.File != "" {
		b.WriteString("  " + t.Paint.Faint.Sprint("("+text.Printable(d.Source.String())+")"))
	}
	if reason := strings.Join(format.Lines(d.Reason), "; "); reason != "" {
		b.WriteString(": " + reason)
	}
	b.WriteString("\n")
	format.Below(b, t.Hints.ErrorLines(d.Err, format.Columns(t.Width)), "    ", t.Width)
}

func deletedName(d event.Deleted) string {
	name := format.Name(d.Ref)
	if d.DryRun && d.Action == event.Gone {
		name += " (dry run)"
	}
	return name
}

func (t *deleteTable) Finish(context.Context) error {
	var b strings.Builder
	left := t.remains.Drain()
	for len(left) > 0 {
		var same, others []event.Deleted
		for _, d := range left {
			if maps.Equal(format.Roots(d.Ref, d.Causes), format.Roots(left[0].Ref, left[0].Causes)) {
				same = append(same, d)
			} else {
				others = append(others, d)
			}
		}
		t.held(&b, same)
		left = others
	}
	b.WriteString(deleteSummary(t.State, t.DryRun) + "\n")
	t.Screen.Result(b.String())
	return nil
}

// held prints objects that are held by the same cause, and the cause once below them. A cause that was printed
// during the run is not repeated.
func (t *deleteTable) held(b *strings.Builder, all []event.Deleted) {
	shown := all
	if len(all) > oneScreen && !t.Verbose && len(all[0].Causes) > 0 {
		shown = all[:manySkipped]
	}
	for _, d := range shown {
		t.line(b, d)
	}
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(b, "%s  and %s\n", t.actionWord(event.Remains), text.Count(more, "more object"))
	}
	if causes := all[0].Causes; len(causes) > 0 && t.reported != nil && slices.ContainsFunc(all, t.reported) {
		format.Below(b, []string{format.Codes(causes) + ": see above"}, "    ", t.Width)
	} else {
		format.Below(b, format.Causes(brief(t.Base, causes)), "    ", t.Width)
	}
	if len(all[0].Causes) == 0 && all[0].Overdue && t.pointed < manySkipped {
		t.pointed++
		fmt.Fprintf(b, "    hint: to see what blocks it: %s %s\n", command.Fill(command.Kubectl("k8sconnect", "stuck"), t.Flags), format.Name(all[0].Ref))
	}
}
