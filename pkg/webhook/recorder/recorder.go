// Package recorder turns tracked transitions into OwnershipRecords, Events, metrics and log lines.
// Start with [New] and [Recorder.Run]; [Recorder.Record] never blocks. Its queue is bounded and
// paced, and serves namespaces in turn. It does not watch objects.
package recorder

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Recorder writes occurrences to a store. Create one with [New].
type Recorder struct {
	opts    Options
	metrics metrics
	writer  writer
	lines   chan []byte
	poke    chan struct{}

	// writing is locked from the moment something is taken out of the queue until its outcome is
	// known.
	writing chan struct{}

	mu    sync.Mutex // guards the following
	queue *queue
	// lost counts the queue's losses that the metrics already include.
	lost int
	// complaints contains the logged reasons for refused writes.
	complaints map[string]bool
}

// New returns a recorder for a store. The recorder writes nothing until Run is called.
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
	r.metrics = newMetrics(func() float64 {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.queue.behind(time.Now()).Seconds()
	})
	return r
}

// Record queues an occurrence. Once this replica has nothing more to do for the occurrence, the
// recorder calls settled with the outcome; settled may be nil. Record never blocks.
func (r *Recorder) Record(o ownership.Occurrence, settled func(ownership.Outcome)) {
	r.metrics.transitions.WithLabelValues(string(o.Kind), string(o.Why)).Inc()
	r.log(o)
	if !o.Notable() || o.Excess {
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

// Lead sets whether this replica writes the transitions for which no replica has a hint.
func (r *Recorder) Lead(leads bool) {
	r.locked(func(q *queue) { q.lead(leads) })
	r.wake()
}

// Run writes until the context ends. It then writes everything still pending, within FlushTimeout
// (edge case 82).
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

func (r *Recorder) wait(ctx context.Context) bool {
	var alarm <-chan time.Time
	r.locked(func(q *queue) {
		if at, ok := q.nextDue(time.Now()); ok {
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

func (r *Recorder) writeNext(ctx context.Context) bool {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	var b batch
	due := false
	r.locked(func(q *queue) { b, due = q.dequeue(time.Now()) })
	if due {
		// Finish a write that is in progress even if the context has ended.
		_ = r.write(context.WithoutCancel(ctx), b, nil)
	}
	return due
}

// watch follows the writes of other replicas, so that nothing is written twice.
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

func (r *Recorder) saw(record *ownership.Record) {
	if !r.writer.isOurs(record) {
		return
	}
	// Wait for any write in progress, because this record may come from it.
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	own := r.writer.own[record.ResourceVersion]
	delete(r.writer.own, record.ResourceVersion)
	r.locked(func(q *queue) { q.seen(record, own, time.Now()) })
}

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

func (r *Recorder) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.FlushTimeout)
	defer cancel()
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	var batches []batch
	r.locked(func(q *queue) { batches = q.drain() })
	for _, b := range batches {
		if ctx.Err() != nil {
			return // The rest is not settled, so it is seen again after the next start.
		}
		_ = r.write(ctx, b, nil)
	}
}

func (r *Recorder) write(ctx context.Context, b batch, more change) error {
	fresh, result, err := r.writer.write(ctx, b.object, func(record *ownership.Record) bool {
		// Another replica may have written the transitions that were dropped here.
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
		r.metrics.recordsWritten.Inc()
		r.announce(b.object, fresh)
	}
	return err
}

// countError logs only the first error for each reason since writes last succeeded.
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
	r.metrics.writeErrors.WithLabelValues(reason).Inc()
	r.mu.Lock()
	message := r.complaints[reason]
	r.complaints[reason] = true
	r.mu.Unlock()
	if !message && r.opts.Log != nil {
		r.opts.Log.Warn("cannot record ownership; retrying", "error", err)
	}
}

func (r *Recorder) locked(f func(*queue)) {
	r.mu.Lock()
	f(r.queue)
	settled := r.queue.settledNow()
	lost := r.queue.lost - r.lost
	r.lost += lost
	r.metrics.pending.Set(float64(r.queue.transitions + r.queue.out))
	r.metrics.lost.Add(float64(lost))
	r.mu.Unlock()
	for _, call := range settled {
		call()
	}
}

func (r *Recorder) wake() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// Live returns the current owners of an object, its resource version, and whether it exists.
type Live = func(uid types.UID) (owners ownership.Owners, resourceVersion string, ok bool)

// Gap compares all records with the live owners after a period that was not watched. It writes the
// net changes as transitions marked as a gap, and returns once they are written. The error names
// the records that could not be written. Gap can be called again.
func (r *Recorder) Gap(ctx context.Context, live Live) error {
	var changed []ownership.Object
	err := r.writer.store.List(ctx, func(record *ownership.Record) error {
		if r.writer.isOurs(record) && r.addNet(record.DeepCopy(), live) {
			changed = append(changed, record.Object)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range changed {
		if err := r.await(ctx); err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, r.writeNet(ctx, o, live))
	}
	return errors.Join(errs...)
}

func (r *Recorder) writeNet(ctx context.Context, o ownership.Object, live Live) error {
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	var b batch
	r.locked(func(q *queue) { b = q.takeOf(o) })
	return r.write(ctx, b, func(record *ownership.Record) bool { return r.addNet(record, live) })
}

func (r *Recorder) addNet(record *ownership.Record, live Live) bool {
	owners, version, ok := live(record.Object.UID)
	if !ok {
		return false
	}
	transitions, err := record.Net(owners)
	if err != nil {
		if r.opts.Log != nil {
			r.opts.Log.Warn("cannot record owner changes during a gap", "object", name(record.Object), "error", err)
		}
		return false
	}
	changed := false
	at := ownership.Occasion{ResourceVersion: version, Time: time.Now(), Gap: true}
	for _, t := range transitions {
		changed = record.Add(t, at) || changed
	}
	return changed
}
