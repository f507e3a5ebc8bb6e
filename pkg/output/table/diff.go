package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const contextLines = 3

// diffTable prints each object that would change: its name, then lines starting with # for what the
// diff does not show (owners, unchecked parts), then a unified diff of YAML.
type diffTable struct {
	output.Base
	texts     output.PlanOrdered[string]
	stays     output.PlanOrdered[event.Compared] // members that are no longer in the input but are kept
	written   bool
	contested int
	yielded   int // yielded paths of objects that are not shown
	joining   int // objects that are not shown, since they only join a set
	takeovers takeovers
	left      leftOver
	reviewed  event.Reviewed // the plan, if something would change
	counts    changeCounts   // of all objects, if only counts are printed
	outside   *outside       // nil without an external program
}

// NewDiff returns the table of a diff.
func NewDiff(b output.Base) output.Results {
	t := &diffTable{Base: b, takeovers: takeovers{}, left: leftOver{}, counts: changeCounts{}}
	if b.External != nil && !b.Stat {
		t.outside = &outside{External: *b.External}
	}
	return t
}

// Handle collects the objects with differences. An object that differs only by joining the set is counted,
// not shown: a first apply to a set would show all objects.
func (t *diffTable) Handle(e event.Event) {
	if reviewed, ok := e.(event.Reviewed); ok && len(reviewed.Objects) > 0 {
		t.reviewed = reviewed
	}
	compared, ok := e.(event.Compared)
	if !ok {
		return
	}
	t.left.add(compared.Left)
	t.takeovers.add(compared.Adopted)
	if t.quiet(compared) {
		t.yielded += len(compared.Yielded)
		return
	}
	at := t.State.Place(compared.Ref)
	if compared.Action == event.Kept {
		t.stays.Add(at, compared)
		return
	}
	if t.Stat {
		t.texts.Add(at, t.stat(compared))
		return
	}
	if compared.Action == event.Share {
		t.texts.Add(at, t.head(compared))
		return
	}
	joins := t.hideSet(&compared)
	before, after, err := projections(compared)
	compared.Err = errors.Join(compared.Err, err)
	owned := slices.ContainsFunc(compared.Changes, func(c managedfields.Change) bool { return len(c.Owners) > 0 })
	if joins && before == after && compared.Err == nil && compared.Reason == "" && !owned {
		t.joining++
		return
	}
	if t.outside != nil {
		t.outside.add(compared, before, after)
		t.texts.Add(at, t.head(compared))
		return
	}
	t.texts.Add(at, t.head(compared)+t.changes(compared, before, after))
}

func (t *diffTable) quiet(c event.Compared) bool {
	if c.Reason != "" || c.Err != nil {
		return false
	}
	return c.Action == event.None || c.OnlyOwners && !t.Verbose
}

// Flush writes the finished objects. With an external program, their names and notes go to stderr,
// because stdout belongs to the program.
func (t *diffTable) Flush() {
	texts := t.texts.Drain()
	skipped[event.Compared]{
		why: func(c event.Compared) error { return errors.New(c.Reason) },
		one: func(c event.Compared, _ string) { texts = append(texts, t.head(c)) },
		many: func(count, reason string) {
			texts = append(texts, t.Paint.Action(event.Kept, string(event.Kept))+"  "+count+reason+"\n")
		},
	}.print(t.Base, t.stays.Drain())
	for _, text := range texts {
		switch {
		case t.outside != nil:
			t.Screen.Note(text)
		case t.written && !t.Stat:
			t.Screen.Result("\n" + text)
		default:
			t.Screen.Result(text)
			t.written = true
		}
	}
}

func (t *diffTable) Finish(ctx context.Context) error {
	var err error
	if t.outside != nil {
		err = t.outside.run(ctx)
	}
	for _, line := range t.takeovers.lines(true) {
		t.print("# " + line + "\n")
	}
	for _, line := range append(t.notes(), diffSummary(t.State)) {
		t.Screen.Note(line + "\n")
	}
	if t.contested > 0 {
		t.Screen.Note(t.contestedText() + "\n")
	}
	// The digest is part of the result: a file with the output is what a person reviews.
	for _, line := range t.confirmation() {
		t.print("# " + line + "\n")
	}
	return err
}

func (t *diffTable) notes() []string {
	lines := t.left.lines()
	if sum := t.counts.String(); sum != "" {
		lines = append(lines, "in all: "+sum)
	}
	if t.joining > 0 {
		lines = append(lines, text.Count(t.joining, "object")+" to join the set, with no other change")
	}
	if t.yielded > 0 && t.Verbose {
		lines = append(lines, text.Count(t.yielded, "yielded path")+" of objects that would not change")
	}
	return lines
}

func (t *diffTable) verdict() []string {
	if t.contested > 0 {
		return []string{t.contestedText()}
	}
	return t.confirmation()
}

func (t *diffTable) contestedText() string {
	return text.Count(t.contested, "contested path") + ": apply stops there unless you use --take or --yield"
}

// confirmation tells how to confirm the changes; empty if there are none or some are contested.
func (t *diffTable) confirmation() []string {
	if t.contested > 0 || t.reviewed.Digest == "" {
		return nil
	}
	lines := []string{"confirm this with --confirm=" + t.reviewed.Digest}
	if why := t.reviewed.Cluster.Unknown; why != "" {
		lines = append(lines, "the digest is not bound to this cluster: "+why)
	}
	return lines
}

func (t *diffTable) print(text string) {
	if t.outside != nil {
		t.Screen.Note(text)
		return
	}
	t.Screen.Result(text)
}

func (t *diffTable) head(c event.Compared) string {
	paint := t.Paint
	if t.outside != nil {
		paint = output.NewPalette(false)
	}
	var b strings.Builder
	b.WriteString(paint.Action(c.Action, string(c.Action)) + "  " + paint.Bold.Sprint(format.Name(c.Ref)))
	if c.Sharing != nil {
		b.WriteString("  " + text.Printable(c.Sharing.String()))
	}
	b.WriteString("\n")
	notes, contested := diffNotes(t.Base, c)
	t.contested += contested
	for _, note := range notes {
		for i, line := range format.Wrap([]string{note}, format.Within(t.Width, "#   ")) {
			if i > 0 {
				line = "  " + line
			}
			b.WriteString(paint.Change.Sprint("# "+line) + "\n")
		}
	}
	return b.String()
}

func (t *diffTable) changes(c event.Compared, before, after string) string {
	from, to := "live", "applied"
	if c.Before == nil {
		from = "/dev/null"
	}
	if c.After == nil {
		to = "/dev/null"
	}
	lines, err := unified(from, to, before, after, contextLines)
	if err != nil {
		// The library does not fail for edits that it has computed itself.
		return "# " + text.Printable(fmt.Sprintf("no diff of %s: %v", c.Ref, err)) + "\n"
	}
	var b strings.Builder
	if !t.Verbose {
		lines = shortened(lines)
	}
	for _, line := range lines {
		b.WriteString(t.Paint.DiffLine(text.Printable(line, '\t')) + "\n")
	}
	return b.String()
}

// shortened truncates long words in a diff, but keeps a removed line different from the added one.
func shortened(lines []string) []string {
	out := slices.Clone(lines)
	for i := 0; i < len(lines); {
		going := i
		for i < len(lines) && strings.HasPrefix(lines[i], "-") {
			i++
		}
		coming := i
		for i < len(lines) && strings.HasPrefix(lines[i], "+") {
			i++
		}
		if i == going {
			out[i] = format.Shorten(lines[i])
			i++
			continue
		}
		for at := going; at < i; at++ {
			out[at] = format.Shorten(lines[at])
		}
		for at := range min(coming-going, i-coming) {
			from, to := format.ShortenPair(lines[going+at][1:], lines[coming+at][1:])
			out[going+at], out[coming+at] = "-"+from, "+"+to
		}
	}
	return out
}

type diffNames struct {
	output.Base
	names   output.PlanOrdered[string]
	unknown output.PlanOrdered[event.Compared]
}

// NewDiffNames returns the names of objects that would change.
func NewDiffNames(b output.Base) output.Results { return &diffNames{Base: b} }

func (n *diffNames) Handle(e event.Event) {
	compared, ok := e.(event.Compared)
	if !ok {
		return
	}
	switch compared.Action { //nolint:exhaustive // these would change
	case event.Create, event.Update, event.Recreate, event.Share, event.Delete:
		n.names.Add(n.State.Place(compared.Ref), text.Printable(compared.Ref.Resource())+"\n")
	case event.Unknown:
		n.unknown.Add(n.State.Place(compared.Ref), compared)
	}
}

func (n *diffNames) Flush() {
	n.Screen.Result(strings.Join(n.names.Drain(), ""))
	for _, c := range n.unknown.Drain() {
		text := append([]string{string(c.Action) + "  " + format.Name(c.Ref)}, remarks(n.Base, c)...)
		n.Screen.Note(strings.Join(text, "\n    ") + "\n")
	}
}

func (n *diffNames) Finish(context.Context) error {
	n.Screen.Note(diffSummary(n.State) + "\n")
	return nil
}
