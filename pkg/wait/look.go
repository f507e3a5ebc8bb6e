package wait

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// lastLook bounds the look at the end: a user who set a timeout does not want to wait much
// longer.
const lastLook = 5 * time.Second

// errNotTold: the server was asked for the kind, and has not answered.
var errNotTold = errors.New("the server did not say in time whether it serves the kind")

// evaluateOnce evaluates what is there now, once: at the end of the time, because what is
// true exactly then counts as true (edge case 54), and where there is no time at
// all (edge case 53).
func (r *run) evaluateOnce(ctx context.Context) {
	r.looking = true
	if r.Timeout != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lastLook)
		defer cancel()
	}
	messages := make(chan message)
	looks := newGroup(ctx, messages)
	for _, v := range r.views {
		if v.ended == nil && (v.pending > 0 || !v.synced) {
			if v.kind.Resource == "" { // The earlier answer may be out of date.
				v.unserved, v.blind = nil, errNotTold
			}
			looks.start(func(tell func(message)) { r.lookAt(ctx, v, tell) })
		}
	}
	done := make(chan struct{})
	go func() { looks.Wait(); close(done) }()
	for {
		select {
		case m := <-messages:
			for _, v := range r.receive(ctx, m) {
				looks.start(func(tell func(message)) { r.lookAt(ctx, v, tell) })
			}
		case <-done:
			return
		}
	}
}

// lookAt reads what a view is of, and leaves it at that.
func (e *Engine) lookAt(ctx context.Context, v *view, tell func(message)) {
	v.sight.Kind = v.kind
	if v.kind.Resource == "" {
		served, err := e.Source.Resource(ctx, v.typ)
		switch {
		case ctx.Err() != nil: // The time is over.
			return
		case meta.IsNoMatchError(err):
			tell(message{view: v, gone: true, err: err})
			return
		case err != nil:
			tell(message{view: v, err: err})
			return
		}
		compiled, err := e.compileAll(ctx, served, v.goals())
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			tell(message{view: v, err: err})
			return
		}
		v.sight.Kind = served
		tell(message{view: v, kind: served, compiled: compiled})
	}
	err := v.sight.List(ctx, func(c object.Change) { tell(message{view: v, change: c}) })
	switch {
	case err == nil, ctx.Err() != nil: // Enough was seen, or the time is over.
	case meta.IsNoMatchError(err):
		tell(message{view: v, gone: true, err: err})
	default:
		tell(message{view: v, err: err})
	}
}
