package give

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// foresee tells what the receiver's next apply meets: the server is asked what it meets now,
// and of that, whoever has given a field away is no longer in the way.
func (e *Engine) foresee(ctx context.Context, t Target, live *unstructured.Unstructured, w transfer.Wish, entries []managedfields.Entry, done transfer.Outcome) *event.NextApply {
	if t.Stated == nil || w.Mode == transfer.Release {
		return nil
	}
	next := &event.NextApply{Manager: w.To}
	how := object.Write{Manager: w.To, DryRun: true, Validation: metav1.FieldValidationIgnore}
	_, err := e.Server.Apply(ctx, t.Kind, t.Stated, how)
	if err != nil && !predict.IsContested(err) {
		next.Err = err
		return next
	}
	contested := predict.Predictor{Manager: w.To}.Contested(err, live, t.Stated)
	next.Before = redact.Conflicts(t.Ref, contested)
	changed := e.changed(ctx, t, live, how, next.Before)
	for _, c := range next.Before {
		c.Owners = remaining(c, done.Entries, w.To)
		if len(c.Owners) > 0 {
			next.After = append(next.After, c)
			continue
		}
		if changed(c.Path) {
			next.Overwrites = append(next.Overwrites, c.Change())
		}
	}
	next.Guarded, next.StillGuarded = guarded(w, entries), guarded(w, done.Entries)
	next.Removes = unstated(w, done)
	return next
}

// changed returns whether an apply that takes all conflicts would change the value at a path: the
// manifest may only spell it otherwise, or leave out its defaults. All are, if the server refuses that.
func (e *Engine) changed(ctx context.Context, t Target, live *unstructured.Unstructured, how object.Write, conflicts []managedfields.Conflict) func(fieldpath.Path) bool {
	always := func(fieldpath.Path) bool { return true }
	if len(conflicts) == 0 {
		return always
	}
	how.Force = true
	answer, err := e.Server.Apply(ctx, t.Kind, t.Stated, how)
	if err != nil {
		return always
	}
	return func(p fieldpath.Path) bool { return !p.Same(live.Object, answer.Object) }
}

// guarded counts the fields that the receiver states and others own: to change one of them
// is a conflict, even if it has that value now.
func guarded(w transfer.Wish, entries []managedfields.Entry) int {
	set := fieldpath.NewSet()
	for _, e := range managedfields.Others(entries, w.To) {
		fieldpath.Each(e.Fields.Leaves(), func(p fieldpath.Path) {
			if _, stated := p.Get(w.Stated); stated {
				fieldpath.Insert(set, p.Clone())
			}
		})
	}
	return set.Size()
}

// unstated returns what the receiver owns from now on, alone, and does not state.
func unstated(w transfer.Wish, done transfer.Outcome) []fieldpath.Path {
	var out []fieldpath.Path
	for _, g := range done.Given {
		if _, stated := g.Path.Get(w.Stated); stated || g.Inner || g.Shared || g.To.Operation != managedfields.Apply {
			continue
		}
		if others := managedfields.HoldersOf(done.Entries, g.Path); len(others) == 1 {
			out = append(out, g.Path)
		}
	}
	return out
}
