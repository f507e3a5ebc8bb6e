// Package templates records which writes changed the Pod templates of workloads, and who sent them.
// Start with [New] and [Recorder.Run]; [Recorder.Hint] adds what admission saw, and
// [Recorder.Committed] what a watch shows. A write is recorded only once a watch shows it.
package templates

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/records"
)

// Recorder writes rollouts to a store. Create one with [New].
type Recorder struct {
	store records.Store
	log   *slog.Logger

	mu      sync.Mutex
	hints   map[types.UID][]hint
	count   int // hints
	pending map[types.UID]*pending
	// complained is when a refused write was last logged.
	complained time.Time
}

type hint struct {
	ownership.RolloutHint
	came time.Time
}

// pending is what is not written yet of an object.
type pending struct {
	object   ownership.Object
	rollouts []ownership.Rollout
	since    time.Time
	due      time.Time
}

const (
	tick = 100 * time.Millisecond
	// hintLife is longer than the longest request plus an interruption of the watch.
	hintLife = 2 * time.Minute
	// maxHints and maxPending bound the memory.
	maxHints, maxPending = 20_000, 20_000
	// pause is the time between attempts to write a record, and giveUp is when they end.
	pause, giveUp = 5 * time.Second, 5 * time.Minute
	lastWrites    = 5 * time.Second
	complainedBy  = time.Minute
)

// New returns a recorder for a store.
func New(store records.Store, log *slog.Logger) *Recorder {
	return &Recorder{store: store, log: log, hints: map[types.UID][]hint{}, pending: map[types.UID]*pending{}}
}

// Hint adds what admission saw, and reports whether it was accepted. It never waits for the cluster.
func (r *Recorder) Hint(h ownership.RolloutHint) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count >= maxHints {
		return false
	}
	r.hints[h.UID] = append(r.hints[h.UID], hint{h, time.Now()})
	r.count++
	return true
}

// Committed handles a version of a workload that directly follows another one. The hint for it is
// that of a write to exactly this version which raises the generation as the write did. If two users
// sent such writes, it is unknown which one was committed.
func (r *Recorder) Committed(o ownership.Object, before string, generation int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fits []ownership.Rollout
	r.keep(o.UID, func(h hint) bool {
		if h.ResourceVersion == before && h.Generation == generation {
			fits = append(fits, h.Rollout)
		}
		return h.ResourceVersion != before
	})
	same := func(one ownership.Rollout) bool {
		return one.User == fits[0].User && one.By == fits[0].By && one.Before == fits[0].Before && one.After == fits[0].After
	}
	if len(fits) == 0 || slices.ContainsFunc(fits, func(one ownership.Rollout) bool { return !same(one) }) {
		return
	}
	p := r.pending[o.UID]
	if p == nil {
		if len(r.pending) >= maxPending {
			return
		}
		p = &pending{object: o, since: time.Now()}
		r.pending[o.UID] = p
	}
	p.rollouts = append(p.rollouts, fits[0])
}

func (r *Recorder) keep(uid types.UID, keep func(hint) bool) {
	had := len(r.hints[uid])
	rest := slices.DeleteFunc(r.hints[uid], func(h hint) bool { return !keep(h) })
	r.count -= had - len(rest)
	if r.hints[uid] = rest; len(rest) == 0 {
		delete(r.hints, uid)
	}
}

// Run writes until the context ends, and then everything that is pending.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			r.expire(now)
			r.writeDue(ctx, now)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
			defer cancel()
			r.writeDue(last, time.Now().Add(pause))
			return nil
		}
	}
}

func (r *Recorder) expire(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid := range r.hints {
		r.keep(uid, func(h hint) bool { return now.Sub(h.came) < hintLife })
	}
}

func (r *Recorder) writeDue(ctx context.Context, now time.Time) {
	for _, p := range r.take(now) {
		err := r.write(ctx, p)
		if err == nil || records.NamespaceGone(err) {
			continue
		}
		r.mu.Lock()
		if now.Sub(r.complained) > complainedBy {
			r.complained = now
			r.log.Warn("cannot record who rolled out", "object", p.object.Namespace+"/"+p.object.Name, "error", err)
		}
		if now.Sub(p.since) < giveUp {
			p.due = now.Add(pause)
			if later := r.pending[p.object.UID]; later != nil {
				p.rollouts = append(p.rollouts, later.rollouts...)
			}
			r.pending[p.object.UID] = p
		}
		r.mu.Unlock()
	}
}

func (r *Recorder) take(now time.Time) (out []*pending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, p := range r.pending {
		if !p.due.After(now) {
			out = append(out, p)
			delete(r.pending, uid)
		}
	}
	return out
}

func (r *Recorder) write(ctx context.Context, p *pending) error {
	_, err := records.Update(ctx, r.store, ownership.NewRolloutRecord(p.object), func(record *ownership.Record) bool {
		for _, one := range p.rollouts {
			record.AddRollout(one)
		}
		return true
	})
	return err
}
