package table

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// NewPast returns the table of an object's history: its revisions and, below them, what the
// webhook recorded.
func NewPast(b output.Base) output.Results {
	return output.Together(func(all []event.Past) error {
		texts := make([]string, len(all))
		for i, p := range all {
			texts[i] = past(b, p)
		}
		b.Screen.Result(strings.Join(texts, "\n"))
		return nil
	})
}

func past(base output.Base, p event.Past) string {
	var b strings.Builder
	b.WriteString(base.Paint.Bold.Sprint(format.Name(p.Ref)) + "\n")
	for _, r := range p.Revisions {
		head := []string{format.RevisionName(r), format.RevisionTime(r, base.Now()), format.RevisionReason(r)}
		if head[1] == "" {
			head = append(head[:1], head[2])
		}
		format.Below(&b, []string{strings.Join(head, "  ")}, "  ", base.Width)
		format.Below(&b, format.RevisionNotes(r), "    ", base.Width)
		for i, c := range r.Changes {
			format.Below(&b, changeLines(base, c), "    ", base.Width)
			by := format.RevisionWriter(c, base.Now())
			if i+1 == len(r.Changes) || format.RevisionWriter(r.Changes[i+1], base.Now()) != by {
				format.Below(&b, []string{by}, "    ", base.Width)
			}
		}
	}
	records(base, &b, p)
	for _, d := range p.Deletions.Found {
		format.Below(&b, format.DeletionLines(d), "  ", base.Width)
	}
	format.Below(&b, format.MissingNotes(p, base.Now()), "  ", base.Width)
	return b.String()
}

// changeLines returns a path with its values: on one line if they fit, otherwise on two.
func changeLines(base output.Base, c event.RevisionChange) []string {
	path, values := c.Path.String(), format.RevisionValues(c.Change)
	if columns := format.Within(base.Width, "    "); columns > 0 && format.Cells(path+"  "+values) > columns {
		return []string{path, "  " + values}
	}
	return []string{path + "  " + values}
}

func records(base output.Base, b *strings.Builder, p event.Past) {
	h := p.Records
	switch {
	case h == nil:
		return
	case h.Err != nil && p.Rolls:
		b.WriteString("  changes of owners: not known\n")
		format.Below(b, format.ErrorLines(h.Err, format.Columns(base.Width)), "    ", base.Width)
		return
	case p.Rolls && len(h.Transitions) == 0:
		format.Below(b, format.Coverage(h.Coverage, base.Now()), "  ", base.Width)
		return
	}
	t := &ownersTable{Base: base}
	format.Below(b, format.Lines(t.history(*h)), "  ", base.Width)
}
