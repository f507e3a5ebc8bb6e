package table

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type migrationTable struct {
	output.Base
	migrated []event.Migrated
	// ended is set if everything readable was read.
	ended  bool
	unread int
}

// NewMigration returns the table of a migration of owners.
func NewMigration(b output.Base) output.Results { return &migrationTable{Base: b} }

func (t *migrationTable) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Migrated:
		t.migrated = append(t.migrated, e)
	case event.MigrationEnded:
		t.ended, t.unread = true, len(e.Unread)
	}
}

func (t *migrationTable) Finish(context.Context) error {
	slices.SortFunc(t.migrated, func(a, b event.Migrated) int { return a.Ref.Compare(b.Ref) })
	var b strings.Builder
	rewritten, left, failed := 0, 0, 0
	for _, m := range t.migrated {
		b.WriteString(t.Paint.Bold.Sprint(format.Name(m.Ref)) + "\n")
		rewritten += len(m.Rewritten)
		left += len(m.Left)
		var lines []string
		for _, o := range m.Rewritten {
			lines = append(lines, "rewritten  "+t.owner(o)+" → "+text.Printable(m.To))
		}
		for _, l := range m.Left {
			lines = append(lines, "left       "+t.owner(l.Owner)+": "+whyLeft(m.To, l))
		}
		if m.Err != nil {
			failed++
			lines = append(lines, t.Hints.ErrorLines(m.Err, format.Columns(t.Width))...)
		}
		format.Below(&b, lines, "  ", t.Width)
	}
	parts := []string{text.Count(rewritten, "owner") + " rewritten"}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d left", left))
	}
	if failed > 0 {
		parts = append(parts, text.Count(failed, "object")+" failed")
	}
	if t.unread > 0 {
		parts = append(parts, fmt.Sprintf("%d not read", t.unread))
	}
	said := strings.Join(parts, ", ")
	switch {
	case len(t.migrated) == 0 && !t.ended:
		return nil // It was interrupted: nothing is known.
	case len(t.migrated) == 0 && t.unread == 0:
		said = "no owner is at a version that the server does not serve"
	case t.DryRun:
		said = strings.Replace(said, "rewritten", "to rewrite", 1) + " (dry run: nothing was written)"
	}
	t.Screen.Result(b.String() + said + "\n")
	return nil
}

func (t *migrationTable) owner(o managedfields.Owner) string {
	return format.Owner(o, t.Now()) + " at " + text.Printable(o.APIVersion)
}

func whyLeft(to string, l event.LeftOwner) string {
	if len(l.Unknown) == 0 {
		return "the server publishes no schema for " + text.Printable(to)
	}
	const some = 3
	names := make([]string, len(l.Unknown))
	for i, name := range l.Unknown {
		names[i] = text.Printable(string(name))
	}
	return text.Printable(to) + " has no " + text.List(names, some)
}
