package table

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// contextLines surround each change of a diff.
const contextLines = 3

// diffTable is the output for people: for each object that would change its name, then
// what its text does not show (who owns a path, what was not checked) as lines that begin
// with #, then the change as a unified diff of YAML.
type diffTable struct {
	output.Base
	texts     output.PlanOrdered[string]
	written   bool
	contested int
	yielded   int // paths of objects that are not shown
	takeovers takeovers
	left      leftOver
	outside   *outside // nil without an external program
}

// NewDiff returns the table of a diff.
func NewDiff(b output.Base) output.Results {
	t := &diffTable{Base: b, takeovers: takeovers{}, left: leftOver{}}
	if b.External != nil {
		t.outside = &outside{External: *b.External}
	}
	return t
}

func (t *diffTable) Handle(e event.Event) {
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
	if compared.Action == event.Share {
		t.texts.Add(at, t.head(compared))
		return
	}
	before, after, err := projections(compared)
	compared.Err = errors.Join(compared.Err, err)
	if t.outside != nil {
		t.outside.add(compared, before, after)
		t.texts.Add(at, t.head(compared))
		return
	}
	t.texts.Add(at, t.head(compared)+t.changes(compared, before, after))
}

// quiet reports whether there is nothing of an object to be shown.
func (t *diffTable) quiet(c event.Compared) bool {
	if c.Reason != "" || c.Err != nil {
		return false
	}
	return c.Action == event.None || c.OnlyOwners && !t.Verbose
}

// Flush writes the finished texts; with an external program, headings go to stderr, since stdout
// belongs to the program.
func (t *diffTable) Flush() {
	for _, text := range t.texts.Drain() {
		switch {
		case t.outside != nil:
			t.Screen.Note(text)
		case t.written:
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
		t.say("# " + line + "\n")
	}
	for _, line := range t.left.lines() {
		t.Screen.Note(line + "\n")
	}
	if t.yielded > 0 {
		t.Screen.Note(text.Count(t.yielded, "yielded path") + " of objects that would not change\n")
	}
	t.Screen.Note(diffSummary(t.State) + "\n")
	if t.contested > 0 {
		t.Screen.Note(text.Count(t.contested, "contested path") + ": apply stops there unless you --take or --yield\n")
	}
	return err
}

// say writes text where the heads of objects go.
func (t *diffTable) say(text string) {
	if t.outside != nil {
		t.Screen.Note(text)
		return
	}
	t.Screen.Result(text)
}

// head is the name of the object, and its notes.
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
		b.WriteString(paint.Change.Sprint("# "+note) + "\n")
	}
	return b.String()
}

// changes is the unified diff of one object.
func (t *diffTable) changes(c event.Compared, before, after string) string {
	from, to := "live", "applied"
	if c.Before == nil {
		from = "/dev/null"
	}
	if c.After == nil {
		to = "/dev/null"
	}
	unified, err := udiff.ToUnified(from, to, before, udiff.Lines(before, after), contextLines)
	if err != nil {
		// The edits are the library's own: that they fit is its promise.
		return "# " + text.Printable(fmt.Sprintf("no diff of %s: %v", c.Ref, err)) + "\n"
	}
	var b strings.Builder
	for line := range strings.Lines(unified) {
		line = text.Printable(strings.TrimSuffix(line, "\n"), '\t')
		b.WriteString(t.Paint.DiffLine(line) + "\n")
	}
	return b.String()
}

// projections are the two sides of an object as YAML; a side that is not there
// is empty.
func projections(c event.Compared) (before, after string, err error) {
	if before, err = projected(foldLastApplied(c.Before, c.After)); err != nil {
		return "", "", fmt.Errorf("show the live %s: %w", c.Ref, err)
	}
	if after, err = projected(c.After); err != nil {
		return "", "", fmt.Errorf("show the applied %s: %w", c.Ref, err)
	}
	return before, after, nil
}

// projected is the YAML of a projection. An empty one has no lines.
func projected(projection map[string]any) (string, error) {
	if len(projection) == 0 {
		return "", nil
	}
	out, err := yaml.Marshal(projection)
	return string(out), err
}
