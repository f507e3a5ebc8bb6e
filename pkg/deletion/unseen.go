package deletion

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// acceptedUnseen is the message for an object that still waits for a finalizer.
const acceptedUnseen = "its deletion was accepted; whether it is gone cannot be seen without the permission to get it"

// askUnseen asks for the deletion of a target that we may not look at. Unless its UID is
// known, none binds it: what has the name is what is meant. The answer has the UID;
// by a dry run that is bound to it, the server reports whether that object is still
// there.
func (e *Engine) askUnseen(ctx context.Context, t *target) {
	how := object.Deletion{UID: t.UID, Propagation: e.Propagation, GracePeriod: e.GracePeriod, DryRun: e.DryRun == object.DryRunServer}
	live, err := e.Server.Delete(ctx, *t.kind, t.Ref, how)
	switch {
	case apierrors.IsNotFound(err), isUnserved(err):
		e.mu.Lock()
		defer e.mu.Unlock()
		e.absent(t, "")
		return
	case t.UID != "" && apierrors.IsConflict(err):
		e.end(t, event.Deleted{Action: event.Gone, Reason: otherNow})
		return
	case err != nil:
		e.fail(ctx, t, "delete", err)
		return
	case live == nil, how.DryRun:
		e.end(t, event.Deleted{Action: event.Gone})
		return
	}
	e.mu.Lock()
	t.accepted = true
	e.mu.Unlock()
	how.UID, how.DryRun = live.GetUID(), true
	_, err = e.Server.Delete(ctx, *t.kind, t.Ref, how)
	switch {
	case apierrors.IsNotFound(err), isUnserved(err):
		e.end(t, event.Deleted{Action: event.Gone})
	case apierrors.IsConflict(err):
		e.end(t, event.Deleted{Action: event.Gone, Reason: otherNow})
	case !e.Wait:
		e.end(t, event.Deleted{Action: event.Remains, Reason: acceptedUnseen})
	default:
		e.end(t, event.Deleted{Action: event.Unknown, Reason: acceptedUnseen, Err: t.view.ended})
	}
}
