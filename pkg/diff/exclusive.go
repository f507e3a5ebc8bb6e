package diff

import (
	"context"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// comparedExclusive reports the result for an existing or new object, with what others have added to
// it as changes.
func (e *Engine) comparedExclusive(ctx context.Context, p *predict.Prediction, out event.Compared) {
	if e.Exclusive != nil && p.Live != nil {
		if err := e.addSurplus(ctx, p, &out); err != nil {
			e.reportUnknown(ctx, p.Item, err)
			return
		}
	}
	e.compared(out)
}

// addSurplus asks the server for a new object only if others have added fields, because only the
// server knows which of these are defaults. If the server refuses it, fields that may be defaults are
// left out.
func (e *Engine) addSurplus(ctx context.Context, p *predict.Prediction, out *event.Compared) error {
	after := p.Answer
	if after == nil {
		after = p.Live
	}
	question := exclusive.Question{
		Live: after, Manifest: p.Item.Object, Manager: e.Predictor.Manager,
		Counts: func(o managedfields.Owner) bool {
			return e.Exclusive(o) && !slices.ContainsFunc(p.Adoption.Adopted, o.Equal)
		},
		Left: func(path fieldpath.Path, owners []managedfields.Owner) bool {
			return e.Predictor.Leaves(p.Item, path, owners)
		},
	}
	if !question.Concerns() {
		return nil
	}
	created, err := e.Predictor.Created(ctx, e.Server, p)
	switch {
	case err == nil:
		question.Created = created
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		e.emit(event.Warned{Ref: p.Item.Ref, Text: "fields that may be defaults are not compared, because the server refuses a new object: " + redact.Error(p.Item.Object, err).Error()})
	}
	found, err := exclusive.Additions(question)
	if err != nil || len(found) == 0 {
		return err
	}
	view, err := e.Predictor.View(p, after)
	if err != nil {
		return err
	}
	added := fieldpath.NewSet()
	for _, a := range found {
		fieldpath.Insert(added, a.Path)
		out.Changes = append(out.Changes, managedfields.Change{Path: a.Path, From: a.Value, Kind: managedfields.Surplus, Owners: a.Owners})
	}
	slices.SortStableFunc(out.Changes, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	out.Action, out.OnlyOwners, out.Sharing = event.Update, false, nil
	out.Before, out.After = managedfields.Project(p.Live.Object, view.Set.Union(added)), managedfields.Project(after.Object, view.Set)
	return nil
}
