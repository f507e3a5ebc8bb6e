package printer

import (
	"context"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// applyNames writes the names of what was applied, as kubectl -o name does. What
// was not applied goes to stderr as it would in a table, for stdout has no place
// for it.
type applyNames struct {
	base
	names planOrdered[string]
	table *applyTable
}

func newApplyNames(b base) *applyNames {
	return &applyNames{base: b, table: newApplyTable(b.beside())}
}

// beside returns what writes to stderr, line by line, what a person would read on stdout.
func (b base) beside() base {
	b.Format, b.External = Table, nil
	b.paint, b.Width = newPalette(false), nil
	b.screen = b.screen.notes()
	return b
}

func (n *applyNames) take(e event.Event) {
	applied, ok := e.(event.Applied)
	if !ok {
		n.table.take(e)
		return
	}
	switch applied.Action {
	case event.Created, event.Configured, event.Unchanged:
		n.names.add(n.progress.place(applied.Ref), text.Printable(applied.Ref.Resource())+"\n")
	default:
		n.table.take(e)
	}
}

func (n *applyNames) flush() {
	n.table.flush()
	n.screen.result(strings.Join(n.names.drain(), ""))
}

func (n *applyNames) finish(ctx context.Context) error {
	return n.table.finish(ctx)
}

// diffNames writes the names of what would change.
type diffNames struct {
	base
	names   planOrdered[string]
	unknown planOrdered[event.Compared]
}

func (n *diffNames) take(e event.Event) {
	compared, ok := e.(event.Compared)
	if !ok {
		return
	}
	switch compared.Action { //nolint:exhaustive // these would change
	case event.Create, event.Update, event.Share, event.Delete:
		n.names.add(n.progress.place(compared.Ref), text.Printable(compared.Ref.Resource())+"\n")
	case event.Unknown:
		n.unknown.add(n.progress.place(compared.Ref), compared)
	}
}

func (n *diffNames) flush() {
	n.screen.result(strings.Join(n.names.drain(), ""))
	for _, c := range n.unknown.drain() {
		text := append([]string{string(c.Action) + "  " + label(c.Ref)}, remarks(c, 0)...)
		n.screen.note(strings.Join(text, "\n    ") + "\n")
	}
}

func (n *diffNames) finish(context.Context) error {
	n.screen.note(diffSummary(n.progress) + "\n")
	return nil
}
