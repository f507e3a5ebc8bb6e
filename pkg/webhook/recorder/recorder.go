// Package recorder turns tracked transitions into OwnershipRecords, Events, counters and log
// lines. Start with New and Run; [Recorder.Record] never blocks. Its queue is bounded, served by
// namespace, and paced for the whole cluster. A write adds to the record that it read, and is
// repeated if another replica was faster. It does not watch.
package recorder

import (
	"cmp"
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Recorder writes the occurrences that it receives. Make one with [New].
type Recorder struct {
	opts   Options
	writer writer
	lines  chan []byte
	// poke wakes Run, see [Recorder.wake].
	poke chan struct{}

	// writing has room for one: the holder is between taking something out of the
	// queue and answering for it.
	writing chan struct{}

	mu    sync.Mutex // guards the following
	queue *queue
	// lost is how many of the queue's losses were counted.
	lost int
	// complaints are the reasons of refused writes that were logged.
	complaints map[string]bool
}

// New returns a recorder that writes to a store, once it runs.
func New(store Store, opts Options) *Recorder {
	opts.WritesPerSecond = cmp.Or(opts.WritesPerSecond, 10)
	opts.Burst = cmp.Or(opts.Burst, 500)
	opts.FlushTimeout = cmp.Or(opts.FlushTimeout, 10*time.Second)
	r := &Recorder{
		opts:       opts,
		writer:     writer{store: store, clusterScoped: opts.Namespace, own: map[string]bool{}},
		lines:      make(chan []byte, maxLines),
		poke:       make(chan struct{}, 1),
		writing:    make(chan struct{}, 1),
		queue:      newQueue(opts.Limits, newPace(opts.WritesPerSecond, opts.Burst)),
		complaints: map[string]bool{},
	}
	opts.Metrics.follow(r.behind)
	return r
}

// Record accepts an occurrence, and calls settled, which may be nil, once: when
// nothing more will be done about it here, with its outcome. It never blocks.
func (r *Recorder) Record(o ownership.Occurrence, settled func(ownership.Outcome)) {
	r.opts.Metrics.transition(o.Kind, o.Why)
	r.log(o)
	if !o.Notable() {
		if settled != nil {
			settled(ownership.OutcomeRecorded)
		}
		return
	}
	r.locked(func(q *queue) {
		q.add(o.Object, pendingTransition{Transition: o.Transition, Occasion: o.Occasion, settled: settled}, time.Now())
	})
	r.wake()
}

// Lead sets whether this replica writes the transitions for which no replica has a
// hint.
func (r *Recorder) Lead(leads bool) {
	r.locked(func(q *queue) { q.lead(leads) })
	r.wake()
}

// Run writes until the context ends, and then, within a bounded time, everything
// pending (edge case 82).
func (r *Recorder) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	beside.Go(func() { r.writeLines(ctx) })
	beside.Go(func() { r.watch(ctx) })
	defer beside.Wait()
	for r.wait(ctx) {
		for ctx.Err() == nil && r.writeNext(ctx) {
		}
	}
	r.flush(ctx)
	return nil
}

// wait waits until something may be due, and reports whether the context is still
// alive.
func (r *Recorder) wait(ctx context.Context) bool {
	var alarm <-chan time.Time
	r.locked(func(q *queue) {
		if at, ok := q.next(time.Now()); ok {
			alarm = time.After(time.Until(at))
		}
	})
	select {
	case <-ctx.Done():
		return false
	case <-r.poke:
	case <-alarm:
	}
	return true
}

// writeNext writes what is due next, and reports whether anything was.
func (r *Recorder) writeNext(ctx context.Context) bool {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	var b batch
	due := false
	r.locked(func(q *queue) { b, due = q.dequeue(time.Now()) })
	if due {
		// A call in progress when the end comes may take its time.
		_ = r.write(context.WithoutCancel(ctx), b, nil)
	}
	return due
}

// watch learns what other replicas write, so that it is not written twice.
func (r *Recorder) watch(ctx context.Context) {
	pauses := newPauses()
	for ctx.Err() == nil {
		began := time.Now()
		r.writing <- struct{}{}
		clear(r.writer.own) // Missed writes will never be seen.
		<-r.writing
		err := r.writer.store.Watch(ctx, r.saw)
		if err != nil && ctx.Err() == nil && r.opts.Log != nil {
			r.opts.Log.Debug("watch of records ended", "error", err)
		}
		if time.Since(began) > longestRetry {
			pauses = newPauses()
		}
		select {
		case <-ctx.Done():
		case <-time.After(pauses.Step()):
		}
	}
}

func newPauses() wait.Backoff {
	return wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 0.3, Steps: 100, Cap: 30 * time.Second}
}

// saw processes a record as it is stored now.
func (r *Recorder) saw(record *ownership.Record) {
	if !r.writer.isOurs(record) {
		return
	}
	// This may be the very write in progress: that is decided once it is done.
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	own := r.writer.own[record.ResourceVersion]
	delete(r.writer.own, record.ResourceVersion)
	r.locked(func(q *queue) { q.seen(record, own, time.Now()) })
}

// await waits for a token, and takes it.
func (r *Recorder) await(ctx context.Context) error {
	for {
		var at time.Time
		now := time.Now()
		r.locked(func(q *queue) {
			if at = q.pace.ready(now); !at.After(now) {
				q.pace.spend(now)
			}
		})
		if !at.After(now) {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(at.Sub(now)):
		}
	}
}

// behind is how many seconds the oldest overdue change has waited.
func (r *Recorder) behind() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.behind(time.Now()).Seconds()
}

// flush writes everything pending, without waiting.
func (r *Recorder) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.FlushTimeout)
	defer cancel()
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	var batches []batch
	r.locked(func(q *queue) { batches = q.drain() })
	for _, b := range batches {
		if ctx.Err() != nil {
			return // The next start sees it again: it is not settled.
		}
		_ = r.write(ctx, b, nil)
	}
}

// write writes a batch and whatever else there is to change, and answers for it.
func (r *Recorder) write(ctx context.Context, b batch, more change) error {
	fresh, result, err := r.writer.write(ctx, b.object, func(record *ownership.Record) bool {
		// Another replica may have written what found no room here.
		changed := b.lost.count > 0 && !record.Covers(b.lost.version)
		if changed {
			record.Lost += b.lost.count
		}
		for _, n := range b.transitions {
			changed = record.Add(n.Transition, n.Occasion) || changed
		}
		if more != nil {
			changed = more(record) || changed
		}
		return changed
	})
	r.locked(func(q *queue) { q.answer(b, result, time.Now()) })
	r.countError(err)
	if result == written {
		r.opts.Metrics.written()
		r.announce(b.object, fresh)
	}
	return err
}

// countError counts a write's error, and logs it if it is the first of its kind since writes
// last succeeded.
func (r *Recorder) countError(err error) {
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.complaints) > 0 && !r.queue.isRefused() {
			clear(r.complaints)
		}
		return
	}
	reason := cmp.Or(string(apierrors.ReasonForError(err)), "Unknown")
	r.opts.Metrics.refused(reason)
	r.mu.Lock()
	said := r.complaints[reason]
	r.complaints[reason] = true
	r.mu.Unlock()
	if !said && r.opts.Log != nil {
		r.opts.Log.Warn("ownership cannot be recorded at present; retrying", "error", err)
	}
}

// locked lets f work on the queue, and then reports the transitions that it settled.
func (r *Recorder) locked(f func(*queue)) {
	r.mu.Lock()
	f(r.queue)
	settled := r.queue.settledNow()
	lost := r.queue.lost - r.lost
	r.lost += lost
	r.opts.Metrics.state(r.queue.transitions+r.queue.out, lost)
	r.mu.Unlock()
	for _, call := range settled {
		call()
	}
}

// wake makes Run check whether anything is due.
func (r *Recorder) wake() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}
