package apply

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// returnTime limits the return of fields after a failure.
const returnTime = 30 * time.Second

// returnSurplus gives the fields that the failed apply was to remove back to their owners. Otherwise the
// next apply would remove them, even if the user does not ask for it. It finishes even if the run is
// interrupted. It reports no error, because the failure of the apply is reported, and diff shows the
// fields.
func (e *Engine) returnSurplus(ctx context.Context, t *target) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	for len(t.borrowed) > 0 {
		adoption := t.borrowed[len(t.borrowed)-1]
		t.borrowed = t.borrowed[:len(t.borrowed)-1]
		for attempts := retry.At(t.Item.Ref); ; {
			live, err := e.Server.Get(ctx, t.Item.Kind, t.Item.Ref)
			if err != nil {
				return
			}
			fields, err := adoption.Return(live)
			if err != nil || fields == nil {
				break
			}
			attempts.OnRead(live)
			answer, err := e.Server.SetManagedFields(ctx, t.Item.Kind, live, fields)
			e.wrote(t, answer, err)
			if !apierrors.IsConflict(err) || attempts.Again(ctx) != nil {
				break
			}
		}
	}
}
