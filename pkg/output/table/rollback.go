package table

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// rollback has the results of a rollback; empty for most runs.
type rollback struct {
	objects output.PlanOrdered[event.RolledBack]
	tally   map[event.Action]int
}

func (r *rollback) handle(s *output.State, e event.Event) {
	back, ok := e.(event.RolledBack)
	if !ok {
		return
	}
	if r.tally == nil {
		r.tally = map[event.Action]int{}
	}
	r.tally[back.Action]++
	r.objects.Add(s.Place(back.Ref), back)
}

// write writes the result for each object, after a blank line if there is text above.
func (r *rollback) write(base output.Base, b *strings.Builder, below bool) {
	if len(r.tally) == 0 {
		return
	}
	if below {
		b.WriteString("\n")
	}
	b.WriteString("Not everything went well, so this run took back what it had written:\n")
	for _, back := range r.objects.Drain() {
		said := format.Name(back.Ref)
		if back.Reason != "" {
			said += ": " + text.Printable(back.Reason)
		}
		room := format.Within(base.Width, "    ")
		details := format.Wrap(base.Hints.ErrorLines(back.Err, room), room)
		for _, path := range back.Left {
			details = append(details, "left     "+text.Printable(path.String())+"  others have changed it since")
		}
		for _, u := range back.Unreturned {
			for _, path := range u.Paths {
				details = append(details, "unowned  "+text.Printable(path.String())+"  "+text.Printable(u.Manager)+
					" does not own it again: it has applied at another API version since")
			}
		}
		applyLine(base, b, back.Action, said, details)
	}
}

// summary counts the results, to follow the summary of the apply.
func (r *rollback) summary() string {
	parts := counted([]event.Action{event.Restored, event.Gone, event.Kept, event.Failed}, r.tally, nil)
	if len(parts) == 0 {
		return ""
	}
	return "; rolled back: " + strings.Join(parts, ", ")
}
