package give

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

const atOnce = 8

// decision is the transfer of one object, as decided from one of its versions.
type decision struct {
	target Target
	out    event.Given
	live   *unstructured.Unstructured
	// entries are the object's managed fields. wish is the request with the object's manifest.
	entries []managedfields.Entry
	wish    transfer.Wish
	done    transfer.Outcome
	// final means that there is nothing to write.
	final bool
}

// decideAll decides all targets. It reports those without a write, and returns the others.
func (e *Engine) decideAll(ctx context.Context, targets []Target, report func(event.Given, []managedfields.Entry)) []*decision {
	var mu sync.Mutex
	var ready []*decision
	var work errgroup.Group
	work.SetLimit(atOnce)
	e.read(ctx, targets, func(t Target, live *unstructured.Unstructured) {
		work.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			d := &decision{target: t, live: live}
			if e.decide(ctx, d); d.final {
				report(d.out, d.entries)
				return nil
			}
			if e.OnGive != nil {
				e.OnGive(d.live, d.out.Moves)
			}
			mu.Lock()
			defer mu.Unlock()
			ready = append(ready, d)
			return nil
		})
	})
	_ = work.Wait()
	return ready
}

func (e *Engine) writeAll(ctx context.Context, ready []*decision, report func(event.Given, []managedfields.Entry)) {
	var work errgroup.Group
	work.SetLimit(atOnce)
	for _, d := range ready {
		work.Go(func() error {
			if ctx.Err() == nil {
				e.write(ctx, d)
				report(d.out, d.entries)
			}
			return nil
		})
	}
	_ = work.Wait()
}

// read calls visit for each target, one at a time. live is nil for a target that must be read by
// itself.
func (e *Engine) read(ctx context.Context, targets []Target, visit func(t Target, live *unstructured.Unstructured)) {
	kinds := map[schema.GroupVersionKind][]Target{}
	seen := map[object.Ref]bool{}
	for _, t := range targets {
		if e.Reader == nil || seen[t.Ref] {
			visit(t, nil)
			continue
		}
		seen[t.Ref] = true
		kinds[t.Kind.GVK] = append(kinds[t.Kind.GVK], t)
	}
	for _, of := range kinds {
		refs := make([]object.Ref, len(of))
		for i, t := range of {
			refs[i] = t.Ref
		}
		e.Reader.Live(ctx, of[0].Kind, refs, func(i int, live *unstructured.Unstructured, _ error) { visit(of[i], live) })
	}
}

// decide decides the transfer of one object, and reads the object if its live version is nil.
func (e *Engine) decide(ctx context.Context, d *decision) {
	d.out = event.Given{Ref: d.target.Ref, DryRun: e.DryRun != object.DryRunNone}
	finish := func(out event.Given) { d.out, d.final = out, true }
	var err error
	if d.live == nil {
		if d.live, err = e.Server.Get(ctx, d.target.Kind, d.target.Ref); err != nil {
			d.entries = nil
			finish(e.unknown(d.out, err))
			return
		}
	}
	d.wish, d.done, d.entries, err = e.wish(ctx, d.live, d.target)
	if err != nil {
		out := e.refused(d.out, err, d.entries)
		if out.Action == event.Unchanged {
			out.Next = e.remains(ctx, d.target, d.live, d.wish, d.entries)
		}
		finish(out)
		return
	}
	d.out.Moves, d.out.Left = movesOf(d.done.Given), keptOf(d.done.Left)
	if len(d.done.Given) == 0 {
		d.out.Action = event.Unchanged
		d.out.Next = e.remains(ctx, d.target, d.live, d.wish, d.entries)
		d.final = true
		return
	}
	if e.Admit != nil {
		if err := e.Admit(d.live); err != nil {
			finish(event.Given{Ref: d.out.Ref, DryRun: d.out.DryRun, Action: event.Failed, Err: err})
		}
	}
}

// write carries out a decision. If another client has written in the meantime, it decides again.
func (e *Engine) write(ctx context.Context, d *decision) {
	for attempts := retry.At(d.target.Ref); !d.final; {
		attempts.OnRead(d.live)
		d.out.Next = e.forecast(ctx, d.target, d.live, d.wish, d.entries, d.done)
		message, err := e.send(ctx, d.target, d.live, d.done.Entries)
		switch {
		case apierrors.IsConflict(err):
			if err := attempts.Again(ctx); err != nil {
				d.out, d.entries = e.unknown(d.out, err), nil
				return
			}
			d.live = nil
			e.decide(ctx, d)
			continue
		case apierrors.IsRequestEntityTooLargeError(err):
			d.out, d.entries = event.Given{Ref: d.out.Ref, DryRun: d.out.DryRun, Action: event.Failed, Err: err}, nil
		case err != nil:
			d.out = e.unknown(d.out, err)
		default:
			d.out.Action, d.out.Reason = event.Handed, message
		}
		return
	}
}
