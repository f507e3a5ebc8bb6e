package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// applyTable prints one line for each object, with notes below it. Failures come at the end of
// their phase or, if the results do not fit on a screen, after the last phase: below what went well,
// where people look. Conflicts come at the end of the table.
type applyTable struct {
	output.Base
	// The results in undone are grouped.
	done      doneLines
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
	return &applyTable{Base: b, done: doneLines{Base: b}, contested: map[int]bool{}, changed: map[int]bool{}, takeovers: takeovers{}, left: leftOver{}}
}

// Handle collects the results: conflicts and objects that were not applied are printed below those that were.
func (t *applyTable) Handle(e event.Event) {
	if waited, ok := e.(event.Waited); ok && waited.Action != event.Met {
		t.unmet.Add(t.State.Place(waited.Ref), waited)
	}
	t.back.handle(t.State, e)
	if _, waits := e.(event.Waiting); waits && t.State.EndsPhase(e) && t.State.Current == len(t.State.Phases)-1 {
		t.writeUndone()
	}
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
		notes := details(t.Base, applied, format.Within(t.Width, "    "))
		applyLine(t.Base, &b, applied.Action, t.name(applied), notes)
		noted := len(notes) > 0 || applied.Reason != "" || applied.Joined != nil || applied.Sharing != nil
		t.done.add(applied.Action, applied.Ref, b.String(), noted)
	}
}

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
	t.done.write(&b, actionWidth)
	t.written = t.written || b.Len() > 0
	t.Screen.Result(b.String())
	if t.Verbose || t.State.Total <= t.done.capacity() {
		t.writeUndone()
	}
}

func (t *applyTable) writeUndone() {
	var b strings.Builder
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

func (t *applyTable) failed(b *strings.Builder, failed []event.Applied) {
	columns := format.Within(t.Width, "    ")
	for _, group := range sameFault(failed, func(a event.Applied) error { return a.Err }) {
		fault := format.Wrap(t.Hints.ErrorLines(commonFault(group[0].Err, len(group)), columns), columns)
		shown := someOf(t.Base, group)
		for i, a := range shown {
			below := details(t.Base, a, columns)
			if i == len(group)-1 {
				below = append(fault, below...)
			}
			applyLine(t.Base, b, a.Action, t.name(a), below)
		}
		if more := len(group) - len(shown); more > 0 {
			applyLine(t.Base, b, group[0].Action, moreOf(more), fault)
		}
	}
}

func (t *applyTable) Finish(context.Context) error {
	t.writeUndone()
	var b strings.Builder
	if conflicts := t.conflicts.Drain(); len(conflicts) > 0 {
		if t.written {
			b.WriteString("\n")
		}
		report(t.Base, &b, conflicts, nothingWritten(t.Base, t.contested, t.changed)+onlyOwners(conflicts))
		b.WriteString("\n")
	}
	unmetLines(t.Base, &b, t.unmet.Drain(), actionWidth)
	t.back.write(t.Base, &b, t.written || b.Len() > 0)
	for _, line := range slices.Concat(t.takeovers.lines(t.DryRun), t.left.lines()) {
		b.WriteString(line + "\n")
	}
	b.WriteString(applySummary(t.State, t.Options) + t.back.summary() + "\n")
	t.Screen.Result(b.String())
	return nil
}

// name adds the source of a failed object, which is the place to correct, and the reason.
func (t *applyTable) name(a event.Applied) string {
	message := format.Name(a.Ref)
	switch {
	case !a.DryRun || a.Action == event.Failed || a.Action == event.Skipped:
	case t.Unasked:
		message += " (client dry run)"
	default:
		message += " (dry run)"
	}
	if a.Action == event.Failed && a.Source.File != "" {
		message += "  " + t.Paint.Faint.Sprint("("+text.Printable(a.Source.String())+")")
	}
	if a.Sharing != nil {
		message += "  " + t.Paint.Faint.Sprint("("+text.Printable(a.Sharing.String())+")")
	}
	if a.Joined != nil {
		message += "  " + t.Paint.Faint.Sprint("("+text.Printable(joined(a))+")")
	}
	if reason := strings.Join(format.Lines(a.Reason), "; "); reason != "" {
		message += ": " + reason
	}
	return message
}

const actionWidth = len(event.Configured)

func applyLine(base output.Base, b *strings.Builder, action event.Action, text string, details []string) {
	b.WriteString(base.Paint.Action(action, format.Pad(string(action), actionWidth)) + "  " + text + "\n")
	for _, detail := range details {
		b.WriteString("    " + detail + "\n")
	}
}

// details returns the notes on an applied object, each at most this wide; 0 columns mean no limit.
func details(b output.Base, a event.Applied, columns int) []string {
	var all []string
	most := manyPaths
	var removed, surplus []managedfields.Change
	for _, c := range a.Removed {
		if c.Kind == managedfields.Surplus {
			surplus = append(surplus, c)
		} else {
			removed = append(removed, c)
		}
	}
	if b.Verbose || len(a.Adopted) > 0 {
		most = math.MaxInt // For a takeover, list all changes.
	}
	if !b.Verbose {
		removed = withoutLastApplied(removed, a.Adopted)
	}
	all = append(all, paths("removed", surplus, math.MaxInt, columns, func(c managedfields.Change, columns int) []string {
		return append(withCommas("added by ", format.AddedBy(c.Owners, b.Now()), ","), was(c, columns)...)
	})...)
	all = append(all, paths("removed", removed, most, columns, func(c managedfields.Change, columns int) []string {
		note, end := was(c, columns), ","
		if len(c.Owners) == 0 {
			return note
		}
		if len(note) == 0 {
			end = ""
		}
		return append(withCommas("owned by ", format.Owners(c.Owners, b.Now()), end), note...)
	})...)
	all = append(all, paths("kept", a.Released, most, columns, func(c managedfields.Change, _ int) []string {
		if len(c.Owners) == 0 {
			return []string{"without an owner, because you yielded it"}
		}
		return withCommas("by ", format.Owners(c.Owners, b.Now()), "")
	})...)
	all = append(all, paths("taken", a.Taken, most, columns, func(c managedfields.Change, columns int) []string {
		if c.From == nil && c.To == nil {
			return withCommas("from ", format.Owners(c.Owners, b.Now()), "")
		}
		return append(withCommas("from ", format.Owners(c.Owners, b.Now()), ":"), fromTo(c, columns)...)
	})...)
	all = append(all, format.Causes(brief(b, a.Causes))...)
	all = append(all, paths("yielded", pathsOf(a.Yielded), most, columns, nil)...)
	if b.Verbose {
		all = append(all, paths("left", changesLeft(a.Left), most, columns, func(c managedfields.Change, _ int) []string {
			return withCommas("to ", format.Owners(c.Owners, b.Now()), "")
		})...)
		for _, manager := range a.Adopted {
			all = append(all, "adopted  the fields of "+text.Printable(manager))
		}
	}
	return all
}

func joined(a event.Applied) string {
	verb := "joined"
	if a.DryRun {
		verb = "would join"
	}
	message := verb + " " + a.Joined.Set
	if len(a.Joined.From) > 0 {
		message += ", taken from " + strings.Join(a.Joined.From, " and ")
	}
	return message
}

// paths lists the first few changes of one kind.
func paths(verb string, changes []managedfields.Change, most, columns int, note func(managedfields.Change, int) []string) []string {
	const indent = "    " // below the path
	shown := changes[:min(most, len(changes))]
	var rows []string
	for _, c := range shown {
		row := format.Pad(verb, len("removed")) + "  " + text.Printable(c.Path.String())
		if c.Atomic {
			row += " (atomic)"
		}
		if note == nil {
			rows = append(rows, row)
			continue
		}
		whole := strings.TrimRight(row+"  "+strings.Join(note(c, 0), " "), " ")
		if columns <= 0 || format.Cells(whole) <= columns {
			rows = append(rows, whole)
			continue
		}
		rows = append(rows, row)
		beside := max(columns-len(indent), format.LeastValue)
		for _, part := range format.Flow(note(c, beside), beside) {
			rows = append(rows, indent+part)
		}
	}
	if more := len(changes) - len(shown); more > 0 {
		rows = append(rows, fmt.Sprintf("%s  and %s", format.Pad(verb, len("removed")), text.Count(more, "more path")))
	}
	return rows
}

func withCommas(before string, words []string, after string) []string {
	listed := commas(words)
	if len(listed) == 0 {
		return []string{before + after}
	}
	listed[0] = before + listed[0]
	listed[len(listed)-1] += after
	return listed
}

func was(c managedfields.Change, _ int) []string {
	if c.From == nil || managedfields.IsLastApplied(c.Path) {
		return nil
	}
	if c.Kind == managedfields.Changed {
		from, to := format.ShortenPair(format.Value(c.From), format.Value(c.To))
		return []string{"was " + from + ",", "now " + to}
	}
	return []string{"was " + format.Shorten(format.Value(c.From))}
}

func fromTo(c managedfields.Change, columns int) []string {
	const arrow = "→ "
	from, to := values(c.From, c.To, true)
	if columns > 0 {
		from, to = cutPair(from, to, columns-format.Cells(arrow), columns-format.Cells(arrow))
	}
	return []string{from, arrow + to}
}

func changesLeft(left []managedfields.Conflict) []managedfields.Change {
	changes := make([]managedfields.Change, len(left))
	for i, c := range left {
		changes[i] = c.Change()
	}
	return changes
}

func pathsOf(paths []fieldpath.Path) []managedfields.Change {
	changes := make([]managedfields.Change, len(paths))
	for i, path := range paths {
		changes[i].Path = path
	}
	return changes
}

func commas(words []string) []string {
	listed := make([]string, len(words))
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		listed[i] = word
	}
	return listed
}
