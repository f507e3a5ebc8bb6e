package table

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

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

func (r *rollback) write(base output.Base, b *strings.Builder, below bool) {
	if len(r.tally) == 0 {
		return
	}
	if below {
		b.WriteString("\n")
	}
	b.WriteString("Not everything succeeded, so the run was rolled back:\n")
	for _, back := range r.objects.Drain() {
		message := format.Name(back.Ref)
		if back.Reason != "" {
			message += ": " + text.Printable(back.Reason)
		}
		columns := format.Within(base.Width, "    ")
		details := format.Wrap(base.Hints.ErrorLines(back.Err, columns), columns)
		for _, path := range back.Left {
			details = append(details, "left     "+text.Printable(path.String())+"  others have changed it since")
		}
		for _, u := range back.Unreturned {
			for _, path := range u.Paths {
				details = append(details, "unowned  "+text.Printable(path.String())+"  "+text.Printable(u.Manager)+
					" could not get it back, because that manager has since applied at another API version")
			}
		}
		applyLine(base, b, back.Action, message, details)
	}
}

func (r *rollback) summary() string {
	parts := counted([]event.Action{event.Restored, event.Gone, event.Kept, event.Failed}, r.tally, nil)
	if len(parts) == 0 {
		return ""
	}
	return "; rolled back: " + strings.Join(parts, ", ")
}
