package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

func (e *Engine) finish(a event.Applied) {
	a.DryRun = e.DryRun != object.DryRunNone
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done.setAction(a.Ref.Key(), a.Action)
	e.Emit(a)
}

func (e *Engine) fail(ctx context.Context, item plan.Item, err error) {
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		// The error comes from the interruption of the run, not from the server.
		if object.MayBeWritten(err) {
			err = fmt.Errorf("its write was in progress, and may have succeeded: %w", err)
		}
		e.skip(item, err)
		return
	}
	if _, missing := e.done.missing(item); e.looking && missing != "" {
		e.skip(item, errPhaseBefore)
		return
	}
	err = predict.Denied(ctx, e.Server, item, err)
	// The result is unknown if the server could not be asked, or if we are not allowed to ask it.
	unknown := object.IsUnanswered(err) || errors.As(err, new(*predict.DeniedError)) || apierrors.IsUnauthorized(err) || ctx.Err() != nil
	err = e.Server.ExplainRefusal(ctx, item.Kind, err)
	e.done.refused(unknown)
	e.finish(event.Applied{Ref: item.Ref, Source: item.Source, Action: event.Failed, Err: redact.Error(item.Object, err)})
}

func (e *Engine) skip(item plan.Item, why error) {
	e.finish(event.Applied{Ref: item.Ref, Source: item.Source, Action: event.Skipped, Err: why})
}

func (e *Engine) conflict(t *target) {
	t.done = true
	for _, miss := range e.Predictor.NearMisses(&t.Prediction) {
		e.emit(event.Warned{Ref: miss.Ref, Text: miss.Text})
	}
	offers, out := offersOf(e.Predictor, t), t.applied(event.InConflict)
	out.Conflicts, out.Unleavable, out.AdoptFrom = redact.Conflicts(t.Item.Ref, t.Conflicts), offers.Unleavable, offers.AdoptFrom
	out.Err, out.Adopted = redact.Error(t.Item.Object, t.refusal), t.moved
	e.finish(out)
}

// offersOf returns the choices that resolve the target's conflicts. On an error, it returns none,
// so that the conflict is still reported.
func offersOf(p predict.Predictor, t *target) predict.Offers {
	offers, err := p.Offers(&t.Prediction)
	if err != nil {
		return predict.Offers{}
	}
	return offers
}

// contest reports whether the target has conflicts. If Decide is nil, it emits them. Otherwise, it
// marks the target as late, so that Decide is called after the other writes: a prompt must not
// delay them.
func (e *Engine) contest(t *target) bool {
	switch {
	case !t.contested():
		return false
	case e.Decide == nil:
		e.conflict(t)
	default:
		t.late = true
	}
	return true
}

func (e *Engine) accepted(ctx context.Context, t *target, answer *unstructured.Unstructured) {
	t.borrowed = nil
	defer t.Reuse()()
	out := t.applied(event.Created)
	out.Object = e.shown(answer)
	if t.anew != nil {
		out.Action, out.Reason, out.Removed = event.Recreated, t.anew.Reason, redact.Changes(t.Item.Ref, t.anew.Lost)
	}
	if t.Live != nil {
		if err := e.compare(t, answer, &out); err != nil {
			e.fail(ctx, t.Item, err)
			return
		}
	}
	e.askAfterwards(ctx, t, answer)
	if inEarnest := e.warnOfRewriting(t, answer, out.Action); inEarnest && out.Action == event.Unchanged {
		out.Action = event.Configured // It was written, as its dry run and diff announce in each run.
	}
	if e.binds(t) {
		if err := e.Review.Written(&t.Prediction, answer); err != nil {
			e.seen(t.Item, t.Live, answer, true)
			e.fail(ctx, t.Item, err)
			return
		}
	}
	e.seen(t.Item, t.Live, answer, out.Action != event.Unchanged && out.Action != event.Shared)
	e.finish(out)
}

// warnOfRewriting warns about fields whose stored value differs from the value that we sent (edge
// case 15). A retry would not help. A run that writes nothing warns, too: the cluster still does not have
// what the manifest says. inEarnest reports whether the dry run of the apply stored one of the values.
func (e *Engine) warnOfRewriting(t *target, answer *unstructured.Unstructured, did event.Action) (inEarnest bool) {
	for _, text := range t.Warnings() {
		e.emit(event.Warned{Ref: t.Item.Ref, Text: text})
	}
	changes, err := e.Predictor.Rewritten(&t.Prediction, answer)
	if err != nil {
		return false
	}
	if e.DryRun == object.DryRunNone && did == event.Unchanged {
		changes = append(changes, e.Predictor.DryRunDiffers(&t.Prediction, answer, changes)...)
	}
	shownByDryRun := e.shownByDryRun(t)
	for _, c := range redact.Changes(t.Item.Ref, changes) {
		w := event.Warned{Ref: t.Item.Ref, Rewriting: event.Rewritten}
		w.Text, w.Detail = predict.RewritingWarning(c)
		if !shownByDryRun(c.Path) {
			inEarnest = true
			w.Rewriting = event.RewrittenInEarnest
			w.Detail += ", but not in dry runs"
		}
		e.emit(w)
	}
	return inEarnest
}

// askAfterwards sends a dry run of a write that changed nothing, if there was none before it. Admission has
// restored what the object had, and only a dry run shows whether diff announces an update in each run.
func (e *Engine) askAfterwards(ctx context.Context, t *target, answer *unstructured.Unstructured) {
	if t.Answer == nil && t.Live != nil && e.DryRun == object.DryRunNone && e.Review == nil && answer.GetResourceVersion() == t.Live.GetResourceVersion() {
		before := t.Prediction
		brief, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := e.predict(brief, t); err != nil {
			t.Prediction = before
		}
	}
}

// shownByDryRun returns whether this run's dry run of the object shows that a value is rewritten. Some
// admission does not act in dry runs. Without a dry run, that is unknown, and the result is true.
func (e *Engine) shownByDryRun(t *target) func(fieldpath.Path) bool {
	if t.Answer == nil || e.DryRun != object.DryRunNone {
		return func(fieldpath.Path) bool { return true }
	}
	shown, err := e.Predictor.Rewritten(&t.Prediction, t.Answer)
	return func(path fieldpath.Path) bool {
		return err != nil || slices.ContainsFunc(shown, func(c managedfields.Change) bool { return c.Path.Equal(path) })
	}
}

// compare describes in the event (out) what the apply changed. A new resource version alone is not
// a change, nor is shared ownership of an equal value (edge case 27). Releasing a field is a
// change, and so is a change of the object that only our apply can have made.
func (e *Engine) compare(t *target, answer *unstructured.Unstructured, out *event.Applied) error {
	view, err := e.Predictor.View(&t.Prediction, answer)
	if err != nil {
		return err
	}
	left, err := e.Predictor.Left(&t.Prediction, answer)
	if err != nil {
		return err
	}
	surplus, left := t.SurplusChanges(answer, left)
	out.Removed = redact.Changes(t.Item.Ref, surplus)
	for _, change := range redact.Changes(t.Item.Ref, left) {
		switch {
		case change.Kind != managedfields.Released:
			out.Removed = append(out.Removed, change)
		case t.Stays(change):
			out.Released = append(out.Released, change)
		default:
		}
	}
	for _, c := range redact.Conflicts(t.Item.Ref, t.TakenFrom(answer)) {
		out.Taken = append(out.Taken, c.Change())
	}
	out.Adopted = t.AdoptedFrom()
	_, changes := t.SurplusChanges(answer, view.Changes())
	changes = append(changes, surplus...)
	if len(out.Adopted) == 0 && len(t.moved) > 0 { // The object was read again after the takeover.
		out.Adopted, out.OnlyOwners = t.moved, len(changes)+len(out.Released)+len(out.Taken) == 0
	} else {
		out.OnlyOwners = t.OnlyOwners(changes) && len(out.Released)+len(out.Taken) == 0
	}
	switch {
	case len(changes) > 0 || len(out.Released) > 0:
		out.Action = event.Configured
	case t.Adopts() || len(t.moved) > 0:
		out.Action = event.Shared
	case len(e.Predictor.Unseen(&t.Prediction, answer)) > 0:
		out.Action = event.Configured
	default:
		out.Action = event.Unchanged
		if out.Sharing, err = e.sharing(t, answer); out.Sharing != nil {
			out.Action = event.Shared
		} else if e.Predictor.Regenerated(&t.Prediction, answer) {
			out.Action = event.Configured
		}
	}
	return err
}

// sharing returns the ownership changes made by an apply that changed no value; nil if there are
// none.
func (e *Engine) sharing(t *target, answer *unstructured.Unstructured) (*managedfields.Sharing, error) {
	if managedfields.SameApplied(t.Live, answer, e.Predictor.Manager) {
		return nil, nil
	}
	sharing, err := managedfields.SharingOf(t.Live, answer, e.Predictor.Manager)
	return &sharing, err
}

func (e *Engine) shown(u *unstructured.Unstructured) *unstructured.Unstructured {
	if !e.Objects || u == nil {
		return nil
	}
	u = redact.Object(u).DeepCopy()
	u.SetManagedFields(nil)
	return u
}

func (e *Engine) emit(ev event.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Emit(ev)
}

var (
	errPhaseBefore = errors.New("an earlier phase has conflicts")
	errSamePhase   = errors.New("other objects in its phase have conflicts")

	errRefusedBefore = errors.New("objects in an earlier phase belong to other owners")
	errRefusedBeside = errors.New("other objects in its phase belong to other owners")
)

func (e *Engine) seen(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
	if e.OnRead != nil && after != nil {
		e.OnRead(item, before, after, changes)
	}
}

// Outcome counts the objects that were not applied.
type Outcome struct {
	Conflicts, Rejected, Unknown int
}

// IncompleteError says that some objects were not applied.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything was applied: %d in conflict, %d refused, %d unknown",
		e.Conflicts, e.Rejected, e.Unknown)
}

// Undetermined reports whether the result of some object is unknown.
func (e *IncompleteError) Undetermined() bool { return e.Unknown > 0 }

// Evaluated reports whether every object was compared with the server's.
func (e *IncompleteError) Evaluated() bool { return e.Rejected+e.Unknown == 0 }
