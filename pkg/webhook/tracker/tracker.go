// Package tracker watches the metadata of all kinds, remembers each object's owners, and reports
// every change once. Start with [New] and [Tracker.Run]; [Tracker.Hint] adds the user that
// admission saw. Missed versions are declared as gaps. The package does not use informers, because
// informers hide transitions. It writes no records and elects no leader.
package tracker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Sink receives tracked changes.
type Sink interface {
	// Record receives every transition, in the order of each object's versions. It never blocks. If
	// settled is not nil, the transition must be written: Record arranges for settled to be called
	// once, from any goroutine, with the outcome. Until then, the checkpoint keeps the transition.
	// A lost transition is declared as a gap.
	Record(o ownership.Occurrence, settled func(ownership.Outcome))
	// Gap makes the sink compare the owners that it last wrote with the current owners, because
	// changes were lost. If an object is not tracked, live returns false. Gap is called only for
	// the leader's sink, and again after an error.
	Gap(ctx context.Context, live func(types.UID) (owners ownership.Owners, resourceVersion string, ok bool)) error
}

// Discovery finds the served kinds, as client-go's discovery client does.
type Discovery interface {
	ServerPreferredResourcesWithContext(ctx context.Context) ([]*metav1.APIResourceList, error)
}

// ConfigMaps reads and writes the ConfigMaps in the namespace of the checkpoint.
type ConfigMaps interface {
	Public
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, c *corev1.ConfigMap, opts metav1.UpdateOptions) (*corev1.ConfigMap, error)
}

// Public writes ConfigMaps in a namespace that all users may read.
type Public interface {
	Apply(ctx context.Context, c *applycorev1.ConfigMapApplyConfiguration, opts metav1.ApplyOptions) (*corev1.ConfigMap, error)
}

// Options are the options of a tracker. Its clients and its sink are required.
type Options struct {
	Metadata   metadata.Interface
	Discovery  Discovery
	ConfigMaps ConfigMaps
	Sink       Sink
	Log        logr.Logger

	// Public writes the ConfigMaps in [ownership.ScopeNamespace]. The leader publishes the scope
	// and the value of Namespace there; if Public is nil, nothing is published. Namespace is the
	// namespace of the field ConfigMaps.
	Public    Public
	Namespace string

	// Name is the name of the checkpoint's ConfigMap; "k8sconnect-tracker" by default.
	Name string
	// Labels and Annotations are set on ConfigMaps that the tracker creates.
	Labels, Annotations map[string]string
	ExcludeNamespaces   []string
	ExcludeKinds        []schema.GroupKind
	// Deletions receives deleted objects; it may be nil.
	Deletions Deletions
	// Rollouts receives the versions of workloads; it may be nil.
	Rollouts Rollouts
	// Grace is how long a change waits for its hint; half a second by default. A hint is sent
	// before its change, but may be read later.
	Grace time.Duration
	// Finish is called once, after the sink has received everything and before the last checkpoint
	// is stored. It may be nil.
	Finish func()
	// StoreEvery is how often the checkpoint is stored; 10 seconds by default.
	StoreEvery time.Duration
}

const queuedHints = 4096

// listsAtOnce limits concurrent lists, to spare memory and the API server.
const listsAtOnce = 4

// Tracker tracks the owners of all objects in a cluster. It is also a Prometheus collector for its
// own metrics.
type Tracker struct {
	opts    Options
	queue   chan ownership.Hint
	queued  atomic.Int64 // size of queue in bytes
	ready   atomic.Bool
	changed chan struct{} // signals that the served kinds may have changed
	lists   chan struct{} // a semaphore for lists that are read concurrently

	permissions permissions

	// id distinguishes the notes of this replica from those of others. noted is what this replica's
	// notes contain already, and unreported is what has yet to be added to them.
	id                string
	noted, unreported []unrecorded
	published         struct {
		content string
		at      time.Time
	}

	mu      sync.Mutex
	state   *state
	asked   bool // to lead
	loops   map[schema.GroupResource]*loop
	loaded  Checkpoint
	pending int       // kinds whose first list is still to come
	gapped  time.Time // when the last declared gap ended
}

type loop struct {
	end  context.CancelFunc
	done sync.WaitGroup
}

// New returns a tracker. Call Run to start it.
func New(opts Options) (*Tracker, error) {
	if opts.Metadata == nil || opts.Discovery == nil || opts.ConfigMaps == nil || opts.Sink == nil {
		return nil, errors.New("a tracker needs a metadata client, a discovery client, config maps and a sink")
	}
	opts.Name = cmp.Or(opts.Name, "k8sconnect-tracker")
	opts.Grace = cmp.Or(opts.Grace, 500*time.Millisecond)
	opts.StoreEvery = cmp.Or(opts.StoreEvery, 10*time.Second)
	if opts.Finish == nil {
		opts.Finish = func() {}
	}
	opts.Finish = sync.OnceFunc(opts.Finish)
	opts.ExcludeKinds = slices.Concat(leftOut(), opts.ExcludeKinds)
	return &Tracker{
		opts:    opts,
		queue:   make(chan ownership.Hint, queuedHints),
		changed: make(chan struct{}, 1),
		lists:   make(chan struct{}, listsAtOnce),
		id:      rand.String(8),
		state:   newState(opts.Grace),
		loops:   map[schema.GroupResource]*loop{},
	}, nil
}

// Hint adds what admission saw, and reports whether it was accepted. It never blocks.
func (t *Tracker) Hint(h ownership.Hint) bool {
	size := int64(h.Size())
	if t.queued.Add(size) <= maxHintBytes {
		select {
		case t.queue <- h:
			return true
		default:
		}
	}
	t.queued.Add(-size)
	return false
}

// Lead sets whether this replica leads. A new leader first reads what the previous one stored.
func (t *Tracker) Lead(leading bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked = leading; !leading {
		t.state.lead(false, time.Now())
	}
}

// Ready reports whether the first list of every kind has been read or refused.
func (t *Tracker) Ready() bool { return t.ready.Load() }

// Live returns the owners of an object, except those of its status, and the object's resource
// version.
func (t *Tracker) Live(uid types.UID) (owners ownership.Owners, resourceVersion string, ok bool) {
	_, owners, resourceVersion, ok = t.Named(uid)
	return owners, resourceVersion, ok
}

// Named returns the kind of an object in addition to the results of Live.
func (t *Tracker) Named(uid types.UID) (kind string, owners ownership.Owners, resourceVersion string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.state.resources {
		if o, ok := w.objects[uid]; ok {
			return w.name, o.owners, o.version, true
		}
	}
	return "", ownership.Owners{}, "", false
}

// do calls tell with the state locked, and passes the resulting changes to the sink.
func (t *Tracker) do(report func(*state) []*pendingChange) {
	t.mu.Lock()
	given := report(t.state)
	t.mu.Unlock()
	for _, m := range given {
		for i, o := range m.occurrences {
			if !o.Notable() || o.Excess {
				t.opts.Sink.Record(o, nil)
				continue
			}
			t.opts.Sink.Record(o, func(end ownership.Outcome) {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.state.settle(m, i, end)
			})
		}
	}
}

// Run tracks until the context ends, then calls Finish and, if this replica leads, stores a last
// checkpoint. It logs, counts and retries failures.
func (t *Tracker) Run(ctx context.Context) error {
	defer t.opts.Finish()
	if err := t.load(ctx); err != nil {
		return nil //nolint:nilerror // load fails only if the context has ended.
	}
	var all sync.WaitGroup
	all.Go(func() { t.discover(ctx) })
	all.Go(func() { t.attend(ctx) })
	all.Go(func() { t.keepCheckpoint(ctx) })
	all.Go(func() { t.compare(ctx) })
	all.Wait()
	t.stopAll()
	t.do(func(s *state) []*pendingChange { return s.due(time.Now().Add(t.opts.Grace)) })
	t.opts.Finish()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastStore)
	defer cancel()
	t.storeOrLog(ctx)
	return nil
}

const tick = 200 * time.Millisecond

func (t *Tracker) attend(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-t.queue:
			t.queued.Add(-int64(h.Size()))
			t.mu.Lock()
			t.state.hint(h, time.Now())
			t.mu.Unlock()
		case <-ticker.C:
			t.do(func(s *state) []*pendingChange { return s.due(time.Now()) })
		}
	}
}

// scope returns the tracked and the excluded kinds and namespaces. The caller must hold the lock.
func (t *Tracker) scope() ownership.Scope {
	s := t.state.scope()
	never := leftOut()
	for _, kind := range t.opts.ExcludeKinds {
		if slices.Contains(never, kind) {
			s.Never = append(s.Never, kind.String())
		} else {
			s.ExcludedKinds = append(s.ExcludedKinds, kind.String())
		}
	}
	slices.Sort(s.Never)
	s.Never = slices.Compact(s.Never)
	slices.Sort(s.ExcludedKinds)
	s.ExcludedNamespaces = slices.Sorted(slices.Values(t.opts.ExcludeNamespaces))
	return s
}

// scope returns the kinds that have been listed and those that are refused. A kind is in both if it
// was once listed and is now refused.
func (b *state) scope() ownership.Scope {
	s := ownership.Scope{Kinds: map[string]time.Time{}}
	for _, w := range b.resources {
		kind := schema.GroupKind{Group: w.resource.Group, Kind: w.name}.String()
		if w.position().Version != "" {
			s.Kinds[kind] = time.Time{}
		}
		if w.refused {
			s.Refused = append(s.Refused, kind)
		}
	}
	slices.Sort(s.Refused)
	return s
}
