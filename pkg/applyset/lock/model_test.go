package lock_test

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/lock"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// world plays runs that compete for one lock: on machines whose clocks are wrong, run at
// different speeds, are set, and stop while the machine sleeps; which are paused and
// killed at any moment; over a network that is slow, loses requests and answers, and
// delivers late. Only the world knows the true time.
type world struct {
	rand  *rand.Rand
	time  time.Duration
	queue events
	order int
	// calm: nothing goes wrong any more.
	calm bool

	lease    *lock.Record
	versions int
	log      []entry
	runs     int
	trace    []string

	terms  lock.Terms
	mutant mutant
}

// mutant is a careless run.
type mutant struct {
	// left replaces [lock.Machine.Left].
	left func(*process, lock.Moment) (time.Duration, bool)
	// moment is how a host reads its clocks.
	moment func(lock.Moment) lock.Moment
	// read is how it reads the Lease.
	read func(*lock.Record)
	// terms are its own.
	terms func(*lock.Terms)
}

// entry is a commit of the server: of the Lease, with its new holder, or of a write, with
// its author.
type entry struct {
	at     time.Duration
	lease  bool
	holder string
}

// judge reads the log of the server, and nothing else: a write is right if the Lease names
// the writer at that moment.
func judge(log []entry) error {
	holder := ""
	for _, e := range log {
		switch {
		case e.lease:
			holder = e.holder
		case e.holder != holder:
			return fmt.Errorf("at %s, %s writes, and %q holds the lock", e.at, e.holder, holder)
		}
	}
	return nil
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (w *world) after(in time.Duration, do func()) {
	w.order++
	heap.Push(&w.queue, event{w.time + in, w.order, do})
}

func (w *world) until(end time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= end {
		e := heap.Pop(&w.queue).(event)
		w.time = e.at
		e.do()
	}
	w.time = end
}

func (w *world) chance(percent int) bool { return !w.calm && w.rand.IntN(100) < percent }

func (w *world) upTo(most time.Duration) time.Duration {
	return time.Duration(w.rand.Int64N(int64(most) + 1))
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%12s ", w.time)+fmt.Sprintf(format, args...))
}

// host is a machine with its clocks.
type host struct {
	world *world
	// rate is how fast its clocks go.
	rate float64
	ahead,
	slept time.Duration
	// sleeps: the monotonic clock stops while it does.
	sleeps bool
	// awake is when it wakes up.
	awake time.Duration
}

func (h *host) now() lock.Moment {
	local := time.Duration(float64(h.world.time) * h.rate)
	now := lock.Moment{Mono: local - h.slept, Wall: time.Unix(0, 0).Add(local + h.ahead)}
	if h.world.mutant.moment != nil {
		now = h.world.mutant.moment(now)
	}
	return now
}

// pause stops everything on the host for a while, by sleep or by a signal.
func (h *host) pause(long time.Duration) {
	h.awake = max(h.awake, h.world.time+long)
	if h.sleeps {
		h.slept += time.Duration(float64(long) * h.rate)
	}
}

// run does something on the host as soon as it is awake.
func (h *host) run(in time.Duration, do func()) {
	var when func()
	when = func() {
		if wait := h.awake - h.world.time; wait > 0 {
			h.world.after(wait, when)
			return
		}
		do()
	}
	h.world.after(in, when)
}

// process is one run of a set.
type process struct {
	*host
	name    string
	machine *lock.Machine
	dead    bool
	// open are the writes of which no answer came; doubtful is when the last of them is
	// surely over, by its own clock.
	open     int
	doubtful time.Duration
	leave    bool
}

func (w *world) start(h *host) {
	w.runs++
	p := &process{host: h, name: fmt.Sprintf("run-%d", w.runs)}
	p.machine = lock.NewMachine(lock.Identity{Holder: p.name, Run: "same"}, w.terms)
	h.run(w.upTo(3*time.Second), p.move)
	h.run(w.upTo(time.Second), p.write)
	h.run(20*time.Second+w.upTo(2*time.Minute), func() { p.leave = true })
	if w.chance(30) {
		w.after(w.upTo(2*time.Minute), func() { p.kill() })
	}
}

func (p *process) kill() {
	if !p.dead {
		p.dead = true
		p.world.note("%s is killed", p.name)
		p.again()
	}
}

// again starts another run on the host.
func (p *process) again() {
	p.run(p.world.upTo(10*time.Second), func() { p.world.start(p.host) })
}

// move makes the machine's next move.
func (p *process) move() {
	if p.dead {
		return
	}
	w := p.world
	if p.leave && p.open <= 0 && p.machine.Holds() {
		p.machine.Release(p.now().Mono >= p.doubtful)
	}
	move := p.machine.Next(p.now())
	switch move.Step {
	case lock.End:
		p.dead = true
		w.note("%s ends: %v", p.name, p.machine.Lost())
		p.again()
		return
	case lock.Rest:
		p.run(time.Duration(float64(move.In)/p.rate)+1, p.move)
		return
	}
	// The client waits for an answer for so long; the request may arrive later.
	const patience = 5 * time.Second
	answered := false
	hear := func(what lock.Outcome, lease lock.Record) {
		if answered || p.dead {
			return
		}
		answered = true
		p.machine.Heard(p.now(), what, lease)
		p.move()
	}
	p.run(patience, func() { hear(lock.Silent, lock.Record{}) })
	if w.chance(10) {
		return // lost on the way there
	}
	w.after(w.latency(), func() {
		what, lease := w.serve(move)
		if w.chance(15) {
			return // carried out, and the answer is lost
		}
		p.run(w.latency(), func() { hear(what, lease) })
	})
}

// latency of one way. For the Lease it may be anything.
func (w *world) latency() time.Duration {
	switch {
	case w.chance(5):
		return w.upTo(time.Minute)
	case w.chance(20):
		return w.upTo(4 * time.Second)
	default:
		return w.upTo(100 * time.Millisecond)
	}
}

// serve is the API server's part.
func (w *world) serve(move lock.Move) (lock.Outcome, lock.Record) {
	there := w.lease != nil
	switch {
	case move.Step == lock.Read && there:
		lease := *w.lease
		if w.mutant.read != nil {
			w.mutant.read(&lease)
		}
		return lock.Done, lease
	case move.Step != lock.Create && !there:
		return lock.Absent, lock.Record{}
	case move.Step == lock.Create && there, there && w.lease.Version != move.Record.Version:
		return lock.Changed, lock.Record{}
	}
	w.versions++
	next := move.Record
	next.Version = fmt.Sprint(w.versions)
	if !there || w.lease.Holder != next.Holder {
		w.note("the lock goes to %q", next.Holder)
	}
	w.lease = &next
	w.log = append(w.log, entry{w.time, true, next.Holder})
	return lock.Done, next
}

// write writes something, again and again, as far as the lock lets it.
func (p *process) write() {
	if p.dead {
		return
	}
	p.run(p.world.upTo(time.Second), p.write)
	if p.leave {
		return
	}
	w, now := p.world, p.now()
	within, ok := p.machine.Left(now)
	if w.mutant.left != nil {
		within, ok = w.mutant.left(p, now)
	}
	if !ok {
		return
	}
	p.open++
	answered := false
	hear := func(settled bool) {
		if !answered && !p.dead {
			answered = true
			p.open--
			if !settled {
				p.doubtful = max(p.doubtful, now.Mono+within+w.terms.Slack)
			}
		}
	}
	p.run(3*time.Second, func() { hear(false) })
	// The network delivers what was sent within the usual slack, or not at all.
	if w.chance(5) {
		return
	}
	w.after(w.upTo(1600*time.Millisecond), func() {
		takes := w.upTo(50 * time.Millisecond)
		if w.chance(20) {
			takes = w.upTo(time.Minute) // a queue, a webhook
		}
		if takes > within {
			return // the server gives it up, and its answer is the same as none
		}
		w.after(takes, func() {
			w.log = append(w.log, entry{w.time, false, p.name})
			if !w.chance(10) {
				p.run(w.upTo(100*time.Millisecond), func() { hear(true) })
			}
		})
	})
}

// trouble makes things go wrong on a host, again and again.
func (w *world) trouble(h *host) {
	if w.calm {
		return
	}
	switch w.rand.IntN(6) {
	case 0:
		h.pause(w.upTo(5 * time.Second))
	case 1:
		h.pause(w.upTo(3 * time.Minute))
	case 2: // The time of day is set.
		switch {
		case h.sleeps:
			// If the clock were set back by as much as the machine has slept, no two
			// clocks would show it. See docs/design/lock.md.
			h.ahead += w.upTo(time.Hour)
		case h.ahead == 0:
			h.ahead = w.upTo(2*time.Hour) - time.Hour
		default:
			h.ahead = 0
		}
	}
	w.after(w.upTo(40*time.Second), func() { w.trouble(h) })
}

// play plays ten minutes of trouble and eight of calm. In the first three of those, some
// still sleep.
func play(seed uint64, m mutant) *world {
	w := &world{rand: rand.New(rand.NewPCG(seed, 1)), terms: lock.Usual(), mutant: m}
	if m.terms != nil {
		m.terms(&w.terms)
	}
	for range 2 + w.rand.IntN(3) {
		h := &host{
			world: w, rate: 0.99 + w.rand.Float64()*0.02, sleeps: w.rand.IntN(2) == 0,
			ahead: w.upTo(2*time.Hour) - time.Hour,
		}
		w.start(h)
		w.trouble(h)
	}
	w.until(10 * time.Minute)
	w.calm = true
	w.until(18 * time.Minute)
	return w
}

// writes counts the writes of a stretch of time.
func (w *world) writes(from, to time.Duration) int {
	n := 0
	for _, e := range w.log {
		if !e.lease && from <= e.at && e.at < to {
			n++
		}
	}
	return n
}

// At no moment does any process write but the one that the Lease names, whatever happens
// to the runs, their clocks and their requests; and the lock is never lost for good (edge
// case 104).
func TestNoTwoHolders(t *testing.T) {
	seeds := circle.Of[uint64](75, 300, 20_000)
	wrote := 0
	for seed := range seeds {
		w := play(seed, mutant{})
		if err := judge(w.log); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(w.trace, "\n"))
		}
		wrote += w.writes(0, 10*time.Minute)
		// Once all is well, no process has to wait for longer than a Lease lasts.
		for at := 14 * time.Minute; at < 18*time.Minute; at += time.Minute {
			if w.writes(at, at+time.Minute) == 0 {
				t.Fatalf("seed %d: no process has written for a minute, at %s\n%s", seed, at, strings.Join(w.trace, "\n"))
			}
		}
	}
	if most := int(seeds) * 10 * 60; wrote < most/10 {
		t.Errorf("%d writes in the time of trouble: the lock is hardly ever held", wrote)
	}
}

// The judge finds each way of being careless, so that it would find one in the lock.
func TestJudgeFindsCarelessRuns(t *testing.T) {
	holds := func(p *process) bool { return p.machine.Holds() }
	mutants := map[string]mutant{
		"nobody asks whether the lock is still held": {left: func(p *process, _ lock.Moment) (time.Duration, bool) {
			return time.Second, holds(p)
		}},
		"the server may take as long as it likes": {left: func(p *process, now lock.Moment) (time.Duration, bool) {
			_, ok := p.machine.Left(now)
			return time.Hour, ok
		}},
		"the time of day is not looked at": {moment: func(now lock.Moment) lock.Moment {
			return lock.Moment{Mono: now.Mono, Wall: time.Unix(0, 0).Add(now.Mono)}
		}},
		"the time of day is all that is looked at": {moment: func(now lock.Moment) lock.Moment {
			return lock.Moment{Mono: now.Wall.Sub(time.Unix(0, 0)), Wall: now.Wall}
		}},
		"a Lease is taken over without waiting": {read: func(lease *lock.Record) { lease.Holder = "" }},
		"a Lease is taken over by what it says of its renewal": {read: func(lease *lock.Record) {
			if lease.Holder != "" && time.Unix(0, 0).Sub(lease.Renewed) > 0 { // as an hour ahead would have it
				lease.Holder = ""
			}
		}},
		"the way to the server takes no time": {terms: func(terms *lock.Terms) { terms.Margin, terms.Slack = 0, 0 }},
		"the lock is given back while a write is under way": {left: func(p *process, now lock.Moment) (time.Duration, bool) {
			p.open, p.doubtful = 0, 0
			return p.machine.Left(now)
		}},
	}
	for name, mutant := range mutants {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2000) {
				if judge(play(seed, mutant).log) != nil {
					return
				}
			}
			t.Error("it was not found")
		})
	}
}

// A run that has lost its lock says so, to whichever process, and never holds it again.
func TestLostIsForGood(t *testing.T) {
	for seed := range uint64(100) {
		w := &world{rand: rand.New(rand.NewPCG(seed, 2)), terms: lock.Usual()}
		h := &host{world: w, rate: 1, sleeps: true}
		p := &process{host: h, name: "first"}
		p.machine = lock.NewMachine(lock.Identity{Holder: "first"}, w.terms)
		w.calm = true
		h.run(0, p.move)
		w.until(10 * time.Second)
		if !p.machine.Holds() {
			t.Fatal("the lock was not got")
		}
		h.pause(5 * time.Minute)
		w.start(&host{world: w, rate: 1})
		w.until(4 * time.Minute)
		w.until(6 * time.Minute)
		lost, ok := errors.AsType[*lock.LostError](p.machine.Lost())
		if !ok || lost.Reason != lock.Taken {
			t.Fatalf("lost: %v", p.machine.Lost())
		}
		if _, ok := p.machine.Left(h.now()); ok || p.machine.Next(h.now()).Step != lock.End {
			t.Fatal("it goes on")
		}
	}
}
