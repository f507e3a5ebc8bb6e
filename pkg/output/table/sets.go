package table

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type setsTable struct {
	output.Base
	wide, members bool
	sets          []event.Set
	// none is the message to print if no set was found. It is empty unless an [event.NoSets]
	// arrived.
	none string
}

// NewSets returns the table of sets.
func NewSets(b output.Base) output.Results { return &setsTable{Base: b, wide: b.Format == output.Wide} }

// NewMembers returns the table of one set, with a line for each member.
func NewMembers(b output.Base) output.Results {
	return &setsTable{Base: b, wide: b.Format == output.Wide, members: true}
}

func (t *setsTable) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Set:
		t.sets = append(t.sets, e)
	case event.NoSets:
		t.none = "no set found in any namespace\n"
		if e.Namespace != "" {
			t.none = fmt.Sprintf("no set found in namespace %s; -A searches all\n", format.Plain(e.Namespace))
		}
	}
}

func (t *setsTable) Finish(context.Context) error {
	if len(t.sets) == 0 {
		if t.none != "" {
			t.Screen.Note(t.none)
		}
		return nil
	}
	var b strings.Builder
	b.WriteString(format.AlignedFirst(t.Width, t.rows(false), t.rows(true)))
	for _, s := range t.sets {
		if t.members && len(s.Members) > 0 && s.Err == nil {
			b.WriteString("\n" + t.memberLines(s))
		}
		if len(s.Runs) > 0 {
			b.WriteString("\n" + t.runLines(s))
		}
		for _, err := range []error{s.Err, s.Fault} {
			if err != nil {
				format.Below(&b, append([]string{format.Name(s.Ref)}, format.ErrorLines(err, format.Columns(t.Width))...), "", t.Width)
			}
		}
	}
	t.Screen.Result(b.String())
	return nil
}

// rows returns the rows of the table. In short, for a narrow terminal, they lack who ran a set and who
// holds its lock, and show how long ago instead of when.
func (t *setsTable) rows(short bool) [][]string {
	head := []string{"SET", "NAMESPACE", "MEMBERS", "READY", "LAST RUN", "LOCK"}
	if t.wide {
		head = append(head, "KINDS", "NAMESPACES", "TOOL", "ID")
	}
	rows := [][]string{head}
	for _, s := range t.sets {
		rows = append(rows, t.row(s, short))
	}
	return rows
}

func (t *setsTable) row(s event.Set, short bool) []string {
	members, ready := strconv.Itoa(len(s.Members)), readyOf(s)
	if s.Err != nil {
		members, ready = "?", "?"
	}
	held := "free"
	switch {
	case s.Lock == nil:
	case short:
		held = "held"
	default:
		held = text.Printable(s.Lock.Holder)
		if !s.Lock.Since.IsZero() {
			held += " since " + format.Stamp(s.Lock.Since)
		}
	}
	row := []string{text.Printable(s.Ref.Resource()), text.Printable(s.Ref.Namespace), members, ready, t.lastRun(s.LastRun, short), held}
	if t.wide {
		row = append(row, text.Printable(strings.Join(s.Kinds, ",")), text.Printable(strings.Join(s.Namespaces, ",")), text.Printable(s.Tooling), s.ID)
	}
	return row
}

func (t *setsTable) lastRun(r *event.SetRun, short bool) string {
	if r == nil {
		return "-"
	}
	message, at := r.Result, r.Ended
	if at.IsZero() {
		at = r.Started
	}
	switch {
	case at.IsZero():
	case short:
		message += " " + agoOf(at, t.Now())
	default:
		message += " " + format.Stamp(at)
	}
	if r.Who != "" && !short {
		message += " by " + r.Who
	}
	return text.Printable(message)
}

func readyOf(s event.Set) string {
	ready := 0
	for _, m := range s.Members {
		if m.Ready {
			ready++
		}
	}
	if slices.ContainsFunc(s.Members, func(m event.Member) bool { return !m.Judged }) {
		return "-"
	}
	return fmt.Sprintf("%d/%d", ready, len(s.Members))
}

func (t *setsTable) memberLines(s event.Set) string {
	var b strings.Builder
	for _, m := range s.Members {
		message := "ready"
		switch {
		case !m.Judged:
			message = "unknown"
		case !m.Ready:
			message = "not ready"
		}
		line := format.Pad(message, len("not ready")) + "  " + format.Name(m.Ref)
		if reason := strings.Join(format.Lines(m.Reason), "; "); reason != "" {
			line += ": " + reason
		}
		b.WriteString(format.Fit("", line, t.Width) + "\n")
	}
	return b.String()
}

func (t *setsTable) runLines(s event.Set) string {
	var b strings.Builder
	for _, r := range s.Runs {
		b.WriteString(format.Fit("", format.Pad(text.Printable(r.Result), len("not ready"))+"  run "+r.Line, t.Width) + "\n")
	}
	return b.String()
}

type setNames struct {
	output.Base
	members bool
}

// NewSetNames returns the names of sets or, if members is set, of their members.
func NewSetNames(b output.Base, members bool) output.Results { return &setNames{b, members} }

func (t *setNames) Handle(e event.Event) {
	s, ok := e.(event.Set)
	switch {
	case !ok:
	case !t.members:
		t.Screen.Result(text.Printable(s.Ref.Resource()) + "\n")
	default:
		for _, m := range s.Members {
			t.Screen.Result(text.Printable(m.Ref.Resource()) + "\n")
		}
	}
}

func (t *setNames) Finish(context.Context) error { return nil }
