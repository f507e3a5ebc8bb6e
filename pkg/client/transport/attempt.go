package transport

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// attempt is one try of a request. The transport and the warnings find it in the
// context.
type attempt struct {
	// about are the objects that the request concerns.
	about []object.Ref
	// quiet: its warnings are not shown.
	quiet bool
	// retryAfter is the delay that the server asks for; 0 for none.
	retryAfter time.Duration
	// said is how the server refused to say what it serves; nil if it did not.
	said *metav1.Status
	// heard is when the request went out or something of its answer came in, in
	// nanoseconds; 0 while it waits for credentials.
	heard atomic.Int64
	// wrote is set once a request was sent that changes the cluster; it may be nil.
	wrote *atomic.Bool
	// unguarded: the guard of the run is not asked about it.
	unguarded bool
}

func (a *attempt) hear() { a.heard.Store(time.Now().UnixNano()) }

// quietSince returns when something was last heard of the request, and whether
// it was sent at all.
func (a *attempt) quietSince() (since time.Time, sent bool) {
	nanos := a.heard.Load()
	return time.Unix(0, nanos), nanos != 0
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf returns the attempt that ctx belongs to, or an empty one for a request
// without an attempt, so that callers need not check.
func attemptOf(ctx context.Context) *attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a
	}
	return &attempt{}
}

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
