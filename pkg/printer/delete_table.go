package printer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// ForDelete returns a printer for the events of a delete. The error names a format
// that there is not.
func ForDelete(o Options) (*Printer, error) {
	gone := word{text: "gone", good: []event.Action{event.Gone, event.Absent}, awaited: true}
	p, err := newPrinter(o, gone, func(b base) results {
		switch b.Format {
		case Table:
			return &deleteTable{base: b}
		case JSON, YAML, KYAML:
			return &deleteDocument{base: b, warnings: warnings{}}
		case JUnit:
			return &logged{&deleteDocument{base: b, warnings: warnings{}}, &deleteTable{base: b.beside()}}
		case Name:
			return newDeleteNames(b)
		case Stream:
			return &stream{base: b, actions: deleteActions()}
		default:
			return nil
		}
	})
	if err == nil {
		p.reporter.explains = true
		p.tellOnce(o)
	}
	return p, err
}

// tellOnce lets the results refer to what stderr has told, where both are read in one
// place: on a terminal, and where the table itself goes to stderr.
func (p *Printer) tellOnce(o Options) {
	switch r := p.results.(type) {
	case *deleteTable:
		if o.Width != nil && o.Progress {
			r.told = p.reporter.toldOf
		}
	case *deleteNames:
		r.table.told = p.reporter.toldOf
	case *logged:
		if table, ok := r.log.(*deleteTable); ok {
			table.told = p.reporter.toldOf
		}
	}
}

func deleteActions() []event.Action {
	return []event.Action{event.Gone, event.Remains, event.Absent, event.Failed, event.Skipped, event.Unknown}
}

// deletedWidth aligns what follows the action in the table of a delete.
const deletedWidth = len(event.Remains)

// deleteTable is what a person reads: one line an object. What is still there comes
// last, with the reason once for all that share it.
type deleteTable struct {
	base
	deleted planOrdered[event.Deleted]
	remains planOrdered[event.Deleted]
	pointed int // to what tells why, so often
	// told reports whether whoever reads this has read already why an object does not
	// go; nil where the results stand alone.
	told func(event.Deleted) bool
}

func (t *deleteTable) take(e event.Event) {
	d, ok := e.(event.Deleted)
	if !ok {
		return
	}
	at := t.progress.place(d.Ref)
	if d.Action == event.Remains {
		t.remains.add(at, d)
		return
	}
	t.deleted.add(at, d)
}

func (t *deleteTable) flush() {
	var b strings.Builder
	skipped := map[string][]event.Deleted{}
	var reasons []string
	for _, d := range t.deleted.drain() {
		if d.Action != event.Skipped {
			t.line(&b, d)
			continue
		}
		why := strings.Join(forPeople(d.Err, columnsOf(t.Width)), "; ")
		if skipped[why] == nil {
			reasons = append(reasons, why)
		}
		skipped[why] = append(skipped[why], d)
	}
	for _, why := range reasons {
		t.skipped(&b, why, skipped[why])
	}
	t.screen.result(b.String())
}

// skipped writes one line for each object, or one for all that were skipped for
// the same reason where they are many.
func (t *deleteTable) skipped(b *strings.Builder, why string, all []event.Deleted) {
	if len(all) > manySkipped && !t.Verbose {
		fmt.Fprintf(b, "%s  %s: %s\n", t.word(event.Skipped), text.Count(len(all), "object"), why)
		return
	}
	for _, d := range all {
		fmt.Fprintf(b, "%s  %s: %s\n", t.word(event.Skipped), label(d.Ref), why)
	}
}

func (t *deleteTable) word(a event.Action) string {
	return t.paint.action(a, pad(string(a), deletedWidth))
}

func (t *deleteTable) line(b *strings.Builder, d event.Deleted) {
	b.WriteString(t.word(d.Action) + "  " + deletedName(d))
	if d.Action == event.Remains {
		b.WriteString(terminatingFor(d.Since, t.Now()))
	}
	if (d.Action == event.Failed || d.Action == event.Unknown) && d.Source.File != "" {
		b.WriteString("  " + t.paint.faint.Sprint("("+text.Printable(d.Source.String())+")"))
	}
	if reason := strings.Join(lines(d.Reason), "; "); reason != "" {
		b.WriteString(": " + reason)
	}
	b.WriteString("\n")
	below(b, forPeople(d.Err, columnsOf(t.Width)), "    ", t.Width)
}

func deletedName(d event.Deleted) string {
	name := label(d.Ref)
	if d.DryRun && d.Action == event.Gone {
		name += " (dry run)"
	}
	return name
}

func (t *deleteTable) finish(context.Context) error {
	var b strings.Builder
	left := t.remains.drain()
	for len(left) > 0 {
		var same, others []event.Deleted
		for _, d := range left {
			if sameCause(d.Causes, left[0].Causes) {
				same = append(same, d)
			} else {
				others = append(others, d)
			}
		}
		t.held(&b, same)
		left = others
	}
	b.WriteString(deleteSummary(t.progress, t.DryRun) + "\n")
	t.screen.result(b.String())
	return nil
}

// held writes objects that are held by the same, and then by what.
func (t *deleteTable) held(b *strings.Builder, all []event.Deleted) {
	shown := all
	if len(all) > oneScreen && !t.Verbose && len(all[0].Causes) > 0 {
		shown = all[:manySkipped]
	}
	for _, d := range shown {
		t.line(b, d)
	}
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(b, "%s  and %s more\n", t.word(event.Remains), text.Count(more, "object"))
	}
	if causes := all[0].Causes; len(causes) > 0 && t.told != nil && slices.ContainsFunc(all, t.told) {
		below(b, []string{causes[0].Code + ": as told above"}, "    ", t.Width)
	} else {
		below(b, causeLines(causes), "    ", t.Width)
	}
	if len(all[0].Causes) == 0 && all[0].Overdue && t.pointed < manySkipped {
		t.pointed++
		fmt.Fprintf(b, "    hint: what holds it: %s %s\n", command.Fill(command.Kubectl("k8sconnect", "stuck"), t.Flags), label(all[0].Ref))
	}
}

// deleteSummary is the last line of a delete: "3 deleted, 1 terminating".
func deleteSummary(c *progress, dryRun bool) string {
	var parts []string
	for _, action := range deleteActions() {
		if n := c.tally[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	if missing := c.total - c.done; missing > 0 {
		parts = append(parts, fmt.Sprintf("%d not reached", missing))
	}
	parts = append(parts, c.unmade()...)
	if len(parts) == 0 {
		parts = []string{"nothing to delete"}
	}
	text := strings.Join(parts, ", ")
	if dryRun {
		text += " (dry run: nothing was deleted)"
	}
	return text
}

// deleteNames writes the names of what was deleted, as kubectl -o name does. All
// else goes to stderr as it would in a table.
type deleteNames struct {
	base
	names planOrdered[string]
	table *deleteTable
}

func newDeleteNames(b base) *deleteNames {
	return &deleteNames{base: b, table: &deleteTable{base: b.beside()}}
}

func (n *deleteNames) take(e event.Event) {
	d, ok := e.(event.Deleted)
	switch {
	case !ok:
	case d.Action == event.Gone:
		n.names.add(n.progress.place(d.Ref), text.Printable(d.Ref.Resource())+"\n")
	default:
		n.table.take(e)
	}
}

func (n *deleteNames) flush() {
	n.table.flush()
	n.screen.result(strings.Join(n.names.drain(), ""))
}

func (n *deleteNames) finish(ctx context.Context) error { return n.table.finish(ctx) }
