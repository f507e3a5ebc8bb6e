package diff

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// compare describes what an apply would make of one object, by the server's
// answer to the dry run.
func (e *Engine) compare(p *predict.Prediction) (event.Compared, error) {
	out := event.Compared{Ref: p.Item.Ref, Source: p.Item.Source, Action: event.None}
	view, err := e.Predictor.View(p, p.Answer)
	if err != nil {
		return out, err
	}
	out.Before, out.After = redact.Pair(out.Ref, view.Before, view.After)
	if p.Live == nil {
		out.Action = event.Create
		return out, nil
	}
	entries, err := managedfields.Entries(p.Live)
	if err != nil {
		return out, err
	}
	changes := managedfields.WithOwners(view.Changes(), entries, e.Predictor.Manager)
	mark(changes, p.Conflicts)
	left, err := e.Predictor.Left(p, p.Answer)
	if err != nil {
		return out, err
	}
	for _, change := range left {
		// Without owners, only the server's default is the same: that is no news.
		if change.Kind == managedfields.Released && len(change.Owners) > 0 {
			changes = append(changes, change)
		}
	}
	slices.SortStableFunc(changes, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	if len(changes) > 0 {
		out.Action = event.Update
		out.Changes = redact.Changes(out.Ref, changes)
	}
	return out, nil
}

// mark marks the changes that are contested: at the path of a conflict, above
// it, or below it.
func mark(changes []managedfields.Change, conflicts []managedfields.Conflict) {
	for i := range changes {
		for _, c := range conflicts {
			if changes[i].Path.HasPrefix(c.Path) || c.Path.HasPrefix(changes[i].Path) {
				changes[i].Kind = managedfields.Contested
			}
		}
	}
}

// contestedOnly describes an object of which the server told only the conflicts,
// since taking all of it would not be valid.
func contestedOnly(ref object.Ref, source object.Source, conflicts []managedfields.Conflict) event.Compared {
	out := event.Compared{Ref: ref, Source: source, Action: event.Update, Reason: "taking every contested path would not be valid"}
	for _, c := range redact.Conflicts(ref, conflicts) {
		out.Changes = append(out.Changes, c.Change())
	}
	return out
}
