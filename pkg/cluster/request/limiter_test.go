package request

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// model is a server in virtual time: the latency of a request, how long it occupies one
// of the cores, and how many are admitted before the server refuses.
type model struct {
	away, work time.Duration
	cores      chan struct{} // nil: no end of them
	most       int32         // 0: no bound
	noise      *rand.Rand    // others work on the server too
	mu         sync.Mutex
	inside     atomic.Int32
	refusals   atomic.Int32
}

func (m *model) serve() (signal, time.Duration) {
	began := time.Now()
	time.Sleep(m.away / 2)
	defer m.inside.Add(-1)
	if n := m.inside.Add(1); m.most > 0 && n > m.most {
		time.Sleep(m.away / 2)
		m.refusals.Add(1)
		return tooMuch, time.Since(began)
	}
	if m.cores != nil {
		m.cores <- struct{}{}
	}
	time.Sleep(m.work + m.delay())
	if m.cores != nil {
		<-m.cores
	}
	time.Sleep(m.away / 2)
	return answered, time.Since(began)
}

// delay is the cost of other clients: usually small, and now and then large.
func (m *model) delay() time.Duration {
	if m.noise == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noise.IntN(40) == 0 {
		return 60 * time.Millisecond
	}
	return time.Duration(m.noise.ExpFloat64() * float64(m.work))
}

// run sends n requests through p, and those again that were refused.
func (m *model) run(p *limiter, n int) time.Duration {
	began := time.Now()
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			for done := false; !done; {
				_ = p.acquire(context.Background())
				what, took := m.serve()
				p.release(what, took)
				if done = what == answered; !done {
					time.Sleep(time.Second)
				}
			}
		})
	}
	wait.Wait()
	return time.Since(began)
}

// fixed is a limiter with a constant limit.
func fixed(n int) *limiter {
	p := newLimiter(n)
	p.limit.size, p.limit.steady = float64(n), 0
	return p
}

// The pace that finds its way is not much slower than the best that does not
// have to, for servers near and far, quick and slow.
func TestPaceFindsTheBestWidth(t *testing.T) {
	for _, away := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		for _, work := range []time.Duration{time.Millisecond, 5 * time.Millisecond, time.Second} {
			for _, cores := range []int{2, 8, 0} {
				t.Run(fmt.Sprintf("%s away, %s on %d cores", away, work, cores), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := func() *model {
							m := &model{away: away, work: work}
							if cores > 0 {
								m.cores = make(chan struct{}, cores)
							}
							return m
						}
						best := time.Duration(1 << 62)
						for n := 1; n <= 64; n *= 2 {
							best = min(best, server().run(fixed(n), 1000))
						}
						if took := server().run(newLimiter(64), 1000); float64(took) > 1.3*float64(best) {
							t.Errorf("took %s, the best fixed width %s", took, best)
						}
					})
				})
			}
		}
	}
}

// What a usual set reads, and the objects of one of its phases, take hardly longer than at
// the best width: each round of a cautious start would cost a distant user a round trip.
func TestPaceOfAUsualSet(t *testing.T) {
	for _, away := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		for _, cores := range []int{2, 8} {
			for _, requests := range []int{1, 13, 20, 33, 48} {
				t.Run(fmt.Sprintf("%d at %s on %d cores", requests, away, cores), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := func() *model {
							return &model{away: away, work: time.Millisecond, cores: make(chan struct{}, cores)}
						}
						best := server().run(fixed(MaxConcurrency), requests)
						if took := server().run(newLimiter(MaxConcurrency), requests); float64(took) > 1.1*float64(best) {
							t.Errorf("took %s, all at once %s", took, best)
						}
					})
				})
			}
		}
	}
}

// A server that was away is not met with all at once.
func TestPaceRestartsModestly(t *testing.T) {
	l := newLimiter(MaxConcurrency)
	if l.restart(); l.limit.now() != modest {
		t.Errorf("width %d after the server was away, want %d", l.limit.now(), modest)
	}
}

// A server that others use as well answers now sooner, now later, whatever we do.
// That must not make us give way for ever.
func TestPaceAmongOthers(t *testing.T) {
	for _, away := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprintf("%s away, %d", away, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := func() *model {
						return &model{
							away: away, work: time.Millisecond, cores: make(chan struct{}, 2),
							noise: rand.New(rand.NewPCG(seed, 0)),
						}
					}
					best := time.Duration(1 << 62)
					for n := 1; n <= 64; n *= 2 {
						best = min(best, server().run(fixed(n), 1000))
					}
					if took := server().run(newLimiter(MaxConcurrency), 1000); float64(took) > 1.3*float64(best) {
						t.Errorf("took %s, the best fixed width %s", took, best)
					}
				})
			})
		}
	}
}

// A server that refuses gets fewer requests: there are few refusals, and throughput stays
// near its limit.
func TestPaceBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{away: 10 * time.Millisecond, work: 10 * time.Millisecond, most: 20}
		best := (&model{away: m.away, work: m.work}).run(fixed(20), 5000)
		took := m.run(newLimiter(96), 5000)
		if float64(took) > 2*float64(best) {
			t.Errorf("took %s, the best is %s", took, best)
		}
		if n := m.refusals.Load(); n > 500 {
			t.Errorf("%d of 5000 were refused", n)
		}
	})
}

// The limit grows again after a refusal, because overload passes.
func TestPaceRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := &model{away: 100 * time.Millisecond, most: 4}, newLimiter(64)
		m.run(p, 200)
		if n := p.limit.now(); n > 8 {
			t.Errorf("width %d at a server that lets in 4", n)
		}
		m.most = 0
		m.run(p, 5000)
		if n := p.limit.now(); n < 48 {
			t.Errorf("width %d of 64 after the server let in everyone", n)
		}
	})
}

// One burst of refusals halves the width once, not once for each of them.
func TestWidthHalvesOnceForAllUnderWay(t *testing.T) {
	w := newLimit(64, startLimit)
	w.size = 64
	for range 64 {
		w.observe(tooMuch, 0, true)
	}
	if w.now() != 32 {
		t.Errorf("width %d after one burst, want 32", w.now())
	}
	w.observe(tooMuch, 0, true)
	if w.now() != 16 {
		t.Errorf("width %d after the next, want 16", w.now())
	}
}

func TestWidthWithoutDemandStays(t *testing.T) {
	w := newLimit(64, startLimit)
	for range 1000 {
		w.observe(answered, time.Millisecond, false)
	}
	if w.now() != startLimit {
		t.Errorf("width %d, though no request waited", w.now())
	}
}

func TestWidthStaysInBounds(t *testing.T) {
	for _, most := range []int{1, 2, 8, 9, 64} {
		w := newLimit(most, startLimit)
		for i := range 10_000 {
			w.observe(signal(i*i%3), time.Duration(i%7)*time.Millisecond, i%5 > 0)
			if w.now() < 1 || w.now() > most {
				t.Fatalf("width %d of at most %d", w.now(), most)
			}
		}
	}
}

func TestPaceForgetsWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(2)
		for range 2 {
			_ = p.acquire(t.Context())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				if p.acquire(ctx) == nil {
					t.Error("let through a third")
				}
			})
		}
		wait.Wait()
		for range 2 {
			p.release(answered, time.Second)
		}
		for range 2 {
			if err := p.acquire(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if p.underway != 2 || len(p.waiting) != 0 {
			t.Errorf("%d under way, %d waiting", p.underway, len(p.waiting))
		}
	})
}
