package tracker

import (
	"context"
	"sync"
	"time"
)

// Run tracks until the context ends, then lets the sink finish and, if it leads, stores a
// last checkpoint. Failures in between are logged, counted, and retried.
func (t *Tracker) Run(ctx context.Context) error {
	defer t.opts.Finish()
	if err := t.load(ctx); err != nil {
		return nil //nolint:nilerror // The context has ended: that is all that ends it.
	}
	var all sync.WaitGroup
	all.Go(func() { t.discover(ctx) })
	all.Go(func() { t.attend(ctx) })
	all.Go(func() { t.keepCheckpoint(ctx) })
	all.Go(func() { t.compare(ctx) })
	all.Wait()
	t.stopAll()
	t.do(func(s *state) []*pendingChange { return s.due(time.Now().Add(t.opts.Grace)) })
	t.opts.Finish()
	t.last(ctx)
	return nil
}

// tick is the pause between checks whether something has waited long enough.
const tick = 200 * time.Millisecond

// attend handles hints as they arrive, and changes that have waited for one.
func (t *Tracker) attend(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-t.queue:
			t.queued.Add(-int64(h.Size()))
			t.mu.Lock()
			t.state.hint(h, time.Now())
			t.mu.Unlock()
		case <-ticker.C:
			t.do(func(s *state) []*pendingChange { return s.due(time.Now()) })
		}
	}
}
