package request

import (
	"context"
	"time"
)

// lastWord is how long a write that was sent may still take when the run is stopped:
// nearly every write is answered by then, so the user need not wonder whether it was
// carried out.
const lastWord = 3 * time.Second

// toTheEnd returns a context for one try of a request. It ends with ctx, or lastWord
// later if a request that changes the cluster has been sent by then: a run that is out of
// time starts nothing, and finishes what is in progress. The context has to be released.
func toTheEnd(ctx context.Context, a *attempt) (context.Context, context.CancelFunc) {
	longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if a.wrote == nil || !a.wrote.Load() {
			end(context.Cause(ctx))
			return
		}
		late := time.AfterFunc(lastWord, func() { end(context.Cause(ctx)) })
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, func() {
		stop()
		end(nil)
	}
}
