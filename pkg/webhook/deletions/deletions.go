// Package deletions records who deleted which object. Start with [New] and [Recorder.Run];
// [Recorder.Hint] adds the user that admission saw, and [Recorder.Gone] what a watch shows. A
// deletion is recorded only once a watch shows that the object is going.
package deletions

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/records"
)

// Options are the options of a recorder. All are required.
type Options struct {
	// Namespace is the namespace for the deletions of cluster-scoped objects, and of objects whose
	// namespace is going.
	Namespace string
	Log       *slog.Logger
}

// Recorder writes deletions to a store. Create one with [New].
type Recorder struct {
	store records.Store
	opts  Options

	mu   sync.Mutex
	book *book
	// wrote is when a record was last written, to space out the writes of a storm.
	wrote map[types.NamespacedName]time.Time
	// complained is when a refused write was last logged.
	complained time.Time
}

// New returns a recorder for a store.
func New(store records.Store, opts Options) *Recorder {
	return &Recorder{store: store, opts: opts, book: newBook(), wrote: map[types.NamespacedName]time.Time{}}
}

// Hint adds what admission saw, and reports whether it was accepted. It never waits for the cluster.
func (r *Recorder) Hint(h ownership.DeletionHint) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.hint(h, time.Now())
}

// Going handles a version of an object that is being deleted but still exists.
func (r *Recorder) Going(o ownership.Object, version string, refs []metav1.OwnerReference, owners []ownership.Holder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book.see(Gone{Object: o, Version: version, Refs: refs, Owners: owners}, nil, time.Now())
}

// Gone handles an object that is gone, with the version of its deletion, if known. settled is called
// once this replica has nothing more to do for it.
func (r *Recorder) Gone(o ownership.Object, version string, at time.Time, gap bool, refs []metav1.OwnerReference, owners []ownership.Holder, settled func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book.see(Gone{Object: o, Version: version, Time: at, Gap: gap, Refs: refs, Owners: owners}, settled, time.Now())
}

// Lives handles a namespace that exists and is not being deleted.
func (r *Recorder) Lives(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.book.namespaces, namespace)
}

// Lead sets whether this replica writes the deletions for which no replica has a hint.
func (r *Recorder) Lead(leads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.book.lead(leads)
}

const (
	tick = 100 * time.Millisecond
	// spacing is the pause between two writes of a record, which may have 100 kB. Without a user in
	// it, a write may wait longer: after a restart, the watch shows the deletion again.
	spacing, longSpacing = time.Second, 10 * time.Second
	lastWrites           = 8 * time.Second
	complainedBy         = time.Minute
)

// Run writes until the context ends, and then everything that is pending.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.writeDue(ctx, false)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
			defer cancel()
			r.writeDue(last, true)
			return nil
		}
	}
}

type batch struct {
	at      types.NamespacedName
	empty   *ownership.Record
	pending []*pending
	entries []ownership.Deletion
	lost    int
}

func (r *Recorder) writeDue(ctx context.Context, all bool) {
	for _, b := range r.batches(all) {
		err := r.write(ctx, b)
		r.mu.Lock()
		now := time.Now()
		if r.wrote[b.at] = now; len(r.wrote) > maxWent {
			clear(r.wrote)
		}
		r.book.answer(b.pending, err == nil, now)
		if err != nil {
			r.book.lost[b.pending[0].Object.Namespace] += b.lost
			if now.Sub(r.complained) > complainedBy {
				r.complained = now
				r.opts.Log.Warn("cannot record deletions", "record", b.at.String(), "error", err)
			}
		}
		r.mu.Unlock()
	}
}

func (r *Recorder) batches(all bool) (out []batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	due := r.book.dueNow(r.opts.Namespace, now, all)
	for _, at := range slices.SortedFunc(maps.Keys(due), func(a, b types.NamespacedName) int { return r.wrote[a].Compare(r.wrote[b]) }) {
		pause := longSpacing
		if slices.ContainsFunc(due[at], (*pending).named) {
			pause = spacing
		}
		if !all && now.Sub(r.wrote[at]) < pause {
			continue
		}
		b := batch{at: at, pending: due[at], empty: r.book.recordOf(due[at][0], r.opts.Namespace)}
		for _, p := range b.pending {
			b.entries = append(b.entries, r.book.deletion(p))
		}
		namespace := b.pending[0].Object.Namespace
		b.lost = r.book.lost[namespace]
		delete(r.book.lost, namespace)
		out = append(out, b)
	}
	return out
}

// write adds the entries to the record. If its namespace goes meanwhile, the caller tries again, and
// by then the entries belong elsewhere.
func (r *Recorder) write(ctx context.Context, b batch) error {
	_, err := records.Update(ctx, r.store, b.empty, func(record *ownership.Record) bool {
		changed, now := b.lost > 0, time.Now()
		for _, d := range b.entries {
			changed = record.AddDeletion(d, now) || changed
		}
		if b.lost > 0 {
			record.LoseDeletions(b.lost, now)
		}
		return changed
	})
	if records.NamespaceGone(err) {
		r.mu.Lock()
		r.book.namespaces[b.at.Namespace] = time.Now()
		r.mu.Unlock()
	}
	return err
}
