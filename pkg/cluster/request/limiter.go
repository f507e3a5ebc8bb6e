package request

import (
	"context"
	"slices"
	"sync"
	"time"
)

// limiter lets through as many requests at once as the server can take, first come,
// first served.
type limiter struct {
	mu       sync.Mutex
	limit    limit
	underway int
	waiting  []chan struct{}
}

func newLimiter(most int) *limiter {
	return &limiter{limit: newLimit(most, startLimit)}
}

// acquire returns when one more request may be sent. Each needs a release.
func (l *limiter) acquire(ctx context.Context) error {
	l.mu.Lock()
	if l.underway < l.limit.now() && len(l.waiting) == 0 {
		l.underway++
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		l.leave(turn)
		return context.Cause(ctx)
	}
}

// leave gives up waiting. If the turn came at the same moment, it goes to the
// next.
func (l *limiter) leave(turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, turn); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return
	}
	l.underway--
	l.next()
}

// release records the result of a request, and how long it took.
func (l *limiter) release(what signal, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underway--
	l.limit.observe(what, took, len(l.waiting) > 0)
	l.next()
}

// restart begins modestly again, as a server does that was just away.
func (l *limiter) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = newLimit(l.limit.most, modest)
}

// narrow reports whether few requests may ever be in progress at once.
func (l *limiter) narrow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit.most < modest
}

// next admits waiting requests, as far as there is room.
func (l *limiter) next() {
	for l.underway < l.limit.now() && len(l.waiting) > 0 {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		l.underway++
	}
}
