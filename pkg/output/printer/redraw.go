package printer

import (
	"sync"
	"time"
)

// redraw calls a function several times a second until it is stopped. Its first
// call comes late enough that short runs show no status line at all.
type redraw struct {
	quit chan struct{}
	done sync.WaitGroup
}

func startRedraw(draw func()) *redraw {
	r := &redraw{quit: make(chan struct{})}
	r.done.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				draw()
			case <-r.quit:
				return
			}
		}
	})
	return r
}

// stop returns when the last call is over.
func (r *redraw) stop() {
	if r != nil {
		close(r.quit)
		r.done.Wait()
	}
}
