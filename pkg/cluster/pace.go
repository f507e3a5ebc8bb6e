package cluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// pace lets through as many requests at once as the server answers without
// taking longer for each. It starts modest, doubles while the time of a request
// holds, then feels its way; it halves when the server says that it is too much.
//
// It looks at rounds: as many answers as requests are allowed at once. The
// quickest round so far tells how long a request takes when nobody waits.
type pace struct {
	clock clock.Clock
	max   int

	mu       sync.Mutex
	limit    int
	underway int
	waiting  []chan struct{}
	doubling bool

	// The round that is under way: answers, their time in total, refusals.
	answers int
	took    time.Duration
	refused bool
	// best is the mean time of a request in the quickest round; 0 before the first.
	best time.Duration
}

const (
	// startLimit is how many requests are let through at first.
	startLimit = 8
	// slack is by how much the time of a request may grow that has nothing to do
	// with us.
	slack = 5 * time.Millisecond
)

func newPace(most int, clock clock.Clock) *pace {
	return &pace{clock: clock, max: most, limit: min(startLimit, most), doubling: true}
}

// acquire returns when one more request may be sent. Each needs a release.
func (p *pace) acquire(ctx context.Context) error {
	p.mu.Lock()
	if p.underway < p.limit && len(p.waiting) == 0 {
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

// leave gives up waiting. If the turn came at the same moment, the next one
// gets it.
func (p *pace) leave(turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.waiting {
		if other == turn {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return
		}
	}
	p.underway--
	p.next()
}

// release tells how long a request took, and whether the server was too busy for
// it.
func (p *pace) release(took time.Duration, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underway--
	p.answers++
	p.took += took
	p.refused = p.refused || busy
	if p.answers >= p.limit {
		p.adjust()
	}
	p.next()
}

// adjust ends a round.
func (p *pace) adjust() {
	mean := p.took / time.Duration(p.answers)
	switch {
	case p.refused:
		p.doubling = false
		p.limit = max(1, p.limit/2)
	case p.best == 0 || mean <= p.best*3/2+slack:
		if p.doubling {
			p.limit *= 2
		} else {
			p.limit++
		}
		p.limit = min(p.limit, p.max)
	default:
		p.doubling = false
		if mean > p.best*3+4*slack {
			p.limit = max(startLimit, p.limit*4/5)
		}
	}
	if !p.refused && (p.best == 0 || mean < p.best) {
		p.best = mean
	}
	p.answers, p.took, p.refused = 0, 0, false
}

// next lets through who waits, as far as the limit allows.
func (p *pace) next() {
	for p.underway < p.limit && len(p.waiting) > 0 {
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
		p.underway++
	}
}
