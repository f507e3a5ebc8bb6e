package apply

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// side is how many objects are dealt with side by side. The server's client keeps the
// pace, so the bound here only limits memory.
const side = 256

// each runs do for all targets side by side.
func (e *Engine) each(ctx context.Context, targets []*target, do func(context.Context, *target)) {
	var g errgroup.Group
	g.SetLimit(side)
	for _, t := range targets {
		g.Go(func() error {
			e.one(ctx, t, do)
			return nil
		})
	}
	_ = g.Wait() // do reports by events, never by an error
}

// finishEach is each for the last that is done with the targets, and with the objects that
// are not there yet, which become targets when their turn comes. It lets go of each as soon
// as it is done, so that what is settled takes no memory while the rest is written. It
// returns those that turned out to be in conflict and are to be decided.
func (e *Engine) finishEach(ctx context.Context, f found, do func(context.Context, *target)) (late []*target) {
	var mu sync.Mutex
	finish := func(t *target) {
		e.one(ctx, t, do)
		if t.late {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, t)
		}
	}
	var g errgroup.Group
	g.SetLimit(side)
	for i, t := range f.targets {
		f.targets[i] = nil
		g.Go(func() error {
			finish(t)
			return nil
		})
	}
	for i, planned := range f.absent {
		f.absent[i] = nil
		g.Go(func() error {
			if t := e.evaluate(ctx, *planned, nil); t != nil {
				finish(t)
			}
			return nil
		})
	}
	_ = g.Wait()
	return late
}

// one runs do for a target, unless the run has ended.
func (e *Engine) one(ctx context.Context, t *target, do func(context.Context, *target)) {
	if ctx.Err() != nil {
		t.done = true
		e.skip(t.Item, context.Cause(ctx))
		return
	}
	do(ctx, t)
}
