package recorder

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Recorder writes what it is told. Make one with [New].
type Recorder struct {
	opts    Options
	writer  writer
	limiter *rate.Limiter
	lines   chan []byte
	// poke wakes Run, see [Recorder.wake].
	poke chan struct{}

	// writing is held from taking something out of the journal to answering for
	// it.
	writing sync.Mutex

	mu      sync.Mutex // of what follows
	journal *journal
	// lost is how many of the journal's losses were counted.
	lost int
	// complaints are the reasons of refused writes that were logged.
	complaints map[string]bool
}

// New returns a recorder that writes to a store, once it runs.
func New(store Store, opts Options) *Recorder {
	opts.WritesPerSecond = cmp.Or(opts.WritesPerSecond, 5)
	opts.FlushTimeout = cmp.Or(opts.FlushTimeout, 10*time.Second)
	return &Recorder{
		opts:       opts,
		writer:     writer{store: store, clusterScoped: opts.Namespace},
		limiter:    rate.NewLimiter(rate.Limit(opts.WritesPerSecond), 1),
		lines:      make(chan []byte, maxLines),
		poke:       make(chan struct{}, 1),
		journal:    newJournal(opts.Limits),
		complaints: map[string]bool{},
	}
}

// Record notes an occurrence, and calls settled, which may be nil, when nothing
// more will be done about it here: done says that it is written, is nothing to write,
// or is declared to be lost; otherwise it was left to the leader, and whether he has
// written it is not known. It never blocks.
func (r *Recorder) Record(o ownership.Occurrence, settled func(done bool)) {
	r.opts.Metrics.transition(o.Kind, o.Why)
	r.log(o)
	if !o.Notable() {
		if settled != nil {
			settled(true)
		}
		return
	}
	r.locked(func(j *journal) {
		j.add(o.Object, note{Transition: o.Transition, Occasion: o.Occasion, settled: settled}, time.Now())
	})
	r.wake()
}

// Lead says whether this replica is to write what nobody has a hint for.
func (r *Recorder) Lead(leads bool) {
	r.locked(func(j *journal) { j.leads = leads })
	r.wake()
}

// Run writes until the context ends, and then, within a bounded time, all that
// is pending (edge case 82).
func (r *Recorder) Run(ctx context.Context) error {
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		r.writeLines(ctx)
	}()
	defer func() { <-logged }()
	for r.wait(ctx) {
		for ctx.Err() == nil && r.writeNext(ctx) {
		}
	}
	r.flush(ctx)
	return nil
}

// wait waits until something may be due, and tells whether the context still
// lasts.
func (r *Recorder) wait(ctx context.Context) bool {
	var alarm <-chan time.Time
	r.locked(func(j *journal) {
		if at, ok := j.next(); ok {
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

// writeNext writes what has been due for longest, and tells whether anything
// was.
func (r *Recorder) writeNext(ctx context.Context) bool {
	due := false
	r.locked(func(j *journal) {
		j.expire(time.Now())
		at, ok := j.next()
		due = ok && !at.After(time.Now())
	})
	if !due || r.limiter.Wait(ctx) != nil {
		return false
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	var b batch
	r.locked(func(j *journal) { b, due = j.take(time.Now()) })
	if due {
		// A call that is under way when the end comes may take its time.
		_ = r.write(context.WithoutCancel(ctx), b, nil)
	}
	return due
}

// flush writes all that is pending, without waiting for anything.
func (r *Recorder) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.FlushTimeout)
	defer cancel()
	r.writing.Lock()
	defer r.writing.Unlock()
	var batches []batch
	r.locked(func(j *journal) { batches = j.drain() })
	for _, b := range batches {
		if ctx.Err() != nil {
			return // The next start sees it again: it is not settled.
		}
		_ = r.write(ctx, b, nil)
	}
}

// write writes a batch, and whatever more there is to change, and answers for it.
func (r *Recorder) write(ctx context.Context, b batch, more change) error {
	fresh, result, err := r.writer.write(ctx, b.object, func(record *ownership.Record) bool {
		// Another replica may have written what there was no room for here.
		changed := b.lost.count > 0 && !record.Covers(b.lost.version)
		if changed {
			record.Lost += b.lost.count
		}
		for _, n := range b.notes {
			changed = record.Add(n.Transition, n.Occasion) || changed
		}
		if more != nil {
			changed = more(record) || changed
		}
		return changed
	})
	r.locked(func(j *journal) { j.answer(b, result, time.Now()) })
	r.told(err)
	if result == written {
		r.opts.Metrics.written()
		r.announce(b.object, fresh)
	}
	return err
}

// told counts a write's error, and logs it if it is the first of its sort since
// all was well.
func (r *Recorder) told(err error) {
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.complaints) > 0 && !r.journal.isRefused() {
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
		r.opts.Log.Warn("ownership is not recorded for now, and tried again", "error", err)
	}
}

// locked lets f work on the journal, and calls who is settled by it afterwards.
func (r *Recorder) locked(f func(*journal)) {
	r.mu.Lock()
	f(r.journal)
	settled := r.journal.settledNow()
	lost := r.journal.lost - r.lost
	r.lost += lost
	r.opts.Metrics.state(r.journal.notes, lost)
	r.mu.Unlock()
	for _, call := range settled {
		call()
	}
}

// wake lets Run look whether anything is due.
func (r *Recorder) wake() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}
