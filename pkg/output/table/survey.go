package table

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type surveyTable struct{ output.Base }

// NewSurvey returns the table of a survey of owners.
func NewSurvey(b output.Base) output.Results {
	return output.Printed(b, (&surveyTable{b}).survey)
}

func (t *surveyTable) survey(s event.Surveyed) string {
	var b strings.Builder
	switch {
	case len(s.Managers) == 0:
	case s.Holdings == nil:
		b.WriteString(format.Aligned(managerRows(s), t.Width) + "\n")
	default:
		b.WriteString(format.AlignedFirst(t.Width, holdingRows(s, 0), holdingRows(s, 1), holdingRows(s, 2), holdingRows(s, 3)) + "\n")
	}
	t.leaving(&b, s)
	t.unexpected(&b, s)
	t.unserved(&b, s)
	b.WriteString(format.Fit("", format.Surveyed(s), t.Width) + "\n")
	return b.String()
}

// holdingRows returns the rows of the table. For a narrow terminal, up to three things are left out: the
// group of a kind, the column of shared fields, and the operation.
func holdingRows(s event.Surveyed, without int) [][]string {
	groups := map[string]map[string]bool{}
	for _, h := range s.Holdings {
		if groups[h.Kind.Kind] == nil {
			groups[h.Kind.Kind] = map[string]bool{}
		}
		groups[h.Kind.Kind][h.Kind.Group] = true
	}
	rows := [][]string{{"MANAGER", "KIND", "OBJECTS", "FIELDS", "SHARED", "SOLE"}}
	for _, h := range s.Holdings {
		kind, owner := h.Kind, h.Owner
		if without > 0 && len(groups[kind.Kind]) == 1 {
			kind.Group = ""
		}
		if without > 2 {
			owner.Operation = ""
		}
		row := []string{format.Owner(owner, time.Time{}), format.KindName(kind), strconv.Itoa(h.Objects)}
		rows = append(rows, append(row, countsOf(h.Fields)...))
	}
	if without > 1 {
		for i, row := range rows {
			rows[i] = slices.Delete(row, len(row)-2, len(row)-1)
		}
	}
	return rows
}

func managerRows(s event.Surveyed) [][]string {
	rows := [][]string{{"MANAGER", "KINDS", "OBJECTS", "FIELDS", "SHARED", "SOLE"}}
	for _, m := range s.Managers {
		row := []string{format.Manager(m.Manager), strconv.Itoa(m.Kinds), strconv.Itoa(m.Objects)}
		rows = append(rows, append(row, countsOf(m.Fields)...))
	}
	return rows
}

func countsOf(f event.Fields) []string {
	return []string{strconv.Itoa(f.All), strconv.Itoa(f.Shared), strconv.Itoa(f.Sole())}
}

func (t *surveyTable) leaving(b *strings.Builder, s event.Surveyed) {
	for _, manager := range s.From {
		var of []event.ObjectHolding
		var fields event.Fields
		for _, h := range s.Leaving {
			if h.Manager == manager {
				of, fields = append(of, h), fields.Plus(h.Fields)
			}
		}
		if len(of) == 0 {
			b.WriteString(format.Fit("", format.Manager(manager)+" owns nothing", t.Width) + "\n\n")
			continue
		}
		title := fmt.Sprintf("%s owns %s of %s; without it, %d of the fields would have no owner",
			format.Manager(manager), text.Count(fields.All, "field"), text.Count(len(of), "object"), fields.Sole())
		t.objects(b, title, of, func(h event.ObjectHolding) string {
			if h.Fields.Sole() == 0 {
				return fmt.Sprintf("all %s shared", text.Count(h.Fields.All, "field"))
			}
			return fmt.Sprintf("%d of %s", h.Fields.Sole(), text.Count(h.Fields.All, "field"))
		}, true)
	}
}

func (t *surveyTable) title(b *strings.Builder, title string) {
	for line := range strings.SplitSeq(format.Fit("", title, t.Width), "\n") {
		b.WriteString(t.Paint.Bold.Sprint(line) + "\n")
	}
}

func (t *surveyTable) unexpected(b *strings.Builder, s event.Surveyed) {
	if len(s.Unexpected) == 0 {
		return
	}
	const somePaths = 2
	say := func(h event.ObjectHolding) string {
		message := format.Manager(h.Manager) + ", " + text.Count(h.Fields.All, "field")
		if t.Verbose {
			return message
		}
		paths := make([]string, len(h.Paths))
		for i, path := range h.Paths {
			paths[i] = text.Printable(string(path))
		}
		return message + ": " + text.List(paths, somePaths)
	}
	t.objects(b, "not expected", s.Unexpected, say, t.Verbose)
}

func (t *surveyTable) objects(b *strings.Builder, title string, holdings []event.ObjectHolding, say func(event.ObjectHolding) string, below bool) {
	const some, somePaths = 20, 4
	brief := t.Width != nil && !t.Verbose
	t.title(b, title)
	for i, h := range holdings {
		if brief && i == some {
			fmt.Fprintf(b, "  and %s; -v 1 shows all\n", text.Count(len(holdings)-some, "more object"))
			break
		}
		b.WriteString(format.Fit("  ", format.Name(h.Ref)+"  "+say(h), t.Width) + "\n")
		if !below {
			continue
		}
		var lines []string
		for j, path := range h.Paths {
			if brief && j == somePaths && len(h.Paths) > somePaths+1 {
				lines = append(lines, fmt.Sprintf("and %d more", len(h.Paths)-j))
				break
			}
			lines = append(lines, text.Printable(string(path)))
		}
		format.Below(b, lines, "    ", t.Width)
	}
	b.WriteString("\n")
}

func (t *surveyTable) unserved(b *strings.Builder, s event.Surveyed) {
	if len(s.Unserved) == 0 {
		return
	}
	t.title(b, "owned at versions that the server does not serve; --migrate-versions rewrites them")
	var rows [][]string
	for _, v := range s.Unserved {
		owner := v.Owner
		owner.APIVersion = ""
		rows = append(rows, []string{"  " + format.Owner(owner, time.Time{}) + " at " + text.Printable(v.Owner.APIVersion), format.KindName(v.Kind), text.Count(v.Objects, "object")})
	}
	b.WriteString(format.Aligned(rows, t.Width) + "\n")
}

type migrationTable struct {
	output.Base
	migrated []event.Migrated
	ended    bool
	unread   int
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
	message := strings.Join(parts, ", ")
	switch {
	case len(t.migrated) == 0 && !t.ended:
		return nil // It was interrupted, so nothing is known.
	case len(t.migrated) == 0 && t.unread == 0:
		message = "all fields are owned at versions that the server serves"
	case t.DryRun:
		message = strings.Replace(message, "rewritten", "to rewrite", 1) + " (dry run: nothing was written)"
	}
	t.Screen.Result(b.String() + message + "\n")
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
