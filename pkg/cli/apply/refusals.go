package apply

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// checkOwner records an object that the run would refuse to write. The engine does not check it, because it
// would report the changes of such an object otherwise than the reviewed ones.
func (l *lookahead) checkOwner(item plan.Item, live *unstructured.Unstructured) {
	if l.admit == nil || live == nil {
		return
	}
	if err := l.admit(item, live); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.barred = append(l.barred, event.Applied{Ref: item.Ref, Source: item.Source, Action: event.Failed, Err: err})
	}
}

// checkRefusals returns an error if the run would stop halfway for a reason that no dry run of an apply
// shows: an object belongs to another owner, or the server refuses a deletion.
func (r *run) checkRefusals(ctx context.Context, l *lookahead) error {
	if n := len(l.barred); n > 0 && !r.continueOnConflict {
		l.failed = append(l.failed, l.barred...)
		advice := "apply the other objects with --continue-on-conflict"
		if hint := object.HintOf(l.barred[0].Err); hint != "" {
			advice = hint + "; or " + advice
		}
		return verb.Unconfirmed(advice, "nothing was written: apply would stop halfway, at %s of other owners", text.Count(n, "object"))
	}
	undeletable := r.undeletable(ctx, l.plan.Outcomes())
	if n := len(undeletable); n > 0 {
		l.failed = append(l.failed, undeletable...)
		return errors.New("nothing was written: the server refuses to delete " + text.Count(n, "object"))
	}
	return nil
}

// undeletable asks the server about each deletion with a dry run. Other errors than a refusal do not count:
// some webhooks refuse every dry run, and the deletion itself is bound to the object's version.
func (r *run) undeletable(ctx context.Context, outcomes map[object.Key]review.Outcome) []event.Applied {
	const side = 256
	var (
		mu   sync.Mutex
		out  []event.Applied
		asks errgroup.Group
	)
	asks.SetLimit(side)
	for _, o := range outcomes {
		if o.Action != event.Delete && o.Action != event.Recreate {
			continue
		}
		asks.Go(func() error {
			kind, err := r.client.Kind(ctx, o.Ref.GVK)
			if err != nil {
				return nil
			}
			_, err = r.client.Delete(ctx, kind, o.Ref, object.Deletion{UID: o.UID, DryRun: true})
			if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
				mu.Lock()
				defer mu.Unlock()
				err = r.client.ExplainRefusal(ctx, kind, err)
				out = append(out, event.Applied{Ref: o.Ref, Action: event.Failed, Departed: o.Departed, Err: err})
			}
			return nil
		})
	}
	_ = asks.Wait()
	return out
}
