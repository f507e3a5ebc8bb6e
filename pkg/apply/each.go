package apply

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// each runs do for all targets side by side. The server's client keeps the pace,
// so the bound here only limits memory.
func (e *Engine) each(ctx context.Context, targets []*target, do func(context.Context, *target)) {
	const side = 256
	var g errgroup.Group
	g.SetLimit(side)
	for _, t := range targets {
		g.Go(func() error {
			if ctx.Err() != nil {
				t.done = true
				e.skip(t.Item, context.Cause(ctx))
				return nil
			}
			do(ctx, t)
			return nil
		})
	}
	_ = g.Wait() // do reports by events, never by an error
}
