package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

// prediction reuses the reviewed prediction if the object still has the reviewed version. It
// predicts anew after conflicts, or if this run has changed the CRD.
func (e *Engine) prediction(item plan.Item, live *unstructured.Unstructured) (p predict.Prediction, reviewed bool, err error) {
	if e.Review != nil && live != nil && !e.changedCRD(item, event.Created, event.Configured) {
		p := e.Review.Judged(item, live)
		switch {
		case p == nil || p.Live == nil:
		case p.Answer != nil && len(p.Conflicts) == 0, p.Verdict == noop.Unchanged:
			return *p, true, nil
		}
	}
	p, err = e.predictor(item).Evaluate(item, live)
	return p, false, err
}

// binds reports whether the stored object must be as the review predicted it. Admission can treat a
// dry run differently from a write. No dry run has predicted an unchecked object, nor an object whose
// CRD this run has changed.
func (e *Engine) binds(t *target) bool {
	return e.Review != nil && e.DryRun == object.DryRunNone && t.Unchecked == "" && !t.reached &&
		!e.changedCRD(t.Item, event.Created, event.Configured)
}

// confirmed reports whether the apply is still needed and has the reviewed result; if not, it emits
// the target's event, or sets late if Decide must be called. After a change to the CRD, the same
// version may have a different result.
func (e *Engine) confirmed(ctx context.Context, t *target) bool {
	switch {
	case e.Review == nil, !e.changedCRD(t.Item, event.Created, event.Configured) && e.Review.Judged(t.Item, t.Live) != nil:
		return true
	case t.ours != "" && t.Live != nil && t.Live.GetResourceVersion() == t.ours:
		return true
	case t.Live != nil && t.Answer == nil && t.Unchecked == "" && t.anew == nil:
		if err := e.predict(ctx, t); err != nil && !e.mustRecreate(ctx, t, err) {
			e.fail(ctx, t.Item, e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err))
			return false
		}
	}
	switch {
	case e.contest(t):
		return false
	case t.NoChange():
		t.reached = true
		e.accepted(ctx, t, t.Answer)
		return false
	}
	if err := e.Review.Confirms(&t.Prediction, t.anew); err != nil {
		e.fail(ctx, t.Item, err)
		return false
	}
	return true
}
