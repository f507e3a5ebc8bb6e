package cluster

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pace lets through as many requests at once as the server can take, first come,
// first served.
type pace struct {
	mu       sync.Mutex
	width    width
	underway int
	waiting  []chan struct{}
}

func newPace(most int) *pace {
	return &pace{width: newWidth(most)}
}

// acquire returns when one more request may be sent. Each needs a release.
func (p *pace) acquire(ctx context.Context) error {
	p.mu.Lock()
	if p.underway < p.width.now() && len(p.waiting) == 0 {
		p.underway++
		p.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	p.waiting = append(p.waiting, turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		p.leave(turn)
		return context.Cause(ctx)
	}
}

// leave gives up waiting. If the turn came at the same moment, it goes to the
// next.
func (p *pace) leave(turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, turn); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return
	}
	p.underway--
	p.next()
}

// release tells what became of a request, and how long it took.
func (p *pace) release(what sign, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underway--
	p.width.observe(what, took, len(p.waiting) > 0)
	p.next()
}

// restart begins modestly again, as a server does that was just away.
func (p *pace) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.width = newWidth(p.width.most)
}

// next lets through who waits, as far as there is room.
func (p *pace) next() {
	for p.underway < p.width.now() && len(p.waiting) > 0 {
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
		p.underway++
	}
}
