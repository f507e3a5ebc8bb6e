// Package tracker watches the metadata of all kinds, remembers each object's owners, and reports
// every change once. Start with New and Run; [Tracker.Hint] adds the user whom admission saw.
// Missed versions are declared as gaps. It has its own watch: client-go's would hide transitions.
// It writes no records and elects no leader.
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

// Sink is where tracked changes are written.
type Sink interface {
	// Record takes a transition: every one, in the order of each object's versions. It
	// never blocks. For a transition that has to be written, it calls settled once, from
	// any goroutine, when it is done with it; until then the checkpoint waits. A loss is
	// declared as a gap. For other transitions, settled is nil.
	Record(o ownership.Occurrence, settled func(ownership.Outcome))
	// Gap says that unknown changes were lost, so that the sink compares the owners that
	// it wrote last with the current ones. live returns the latter; ok is false if no
	// such object is tracked. Only the leader's sink is called, and again after an error.
	Gap(ctx context.Context, live func(types.UID) (owners ownership.Owners, resourceVersion string, ok bool)) error
}

// Discovery finds the kinds that there are. client-go's discovery client does.
type Discovery interface {
	ServerPreferredResourcesWithContext(ctx context.Context) ([]*metav1.APIResourceList, error)
}

// ConfigMaps are those of the namespace that the checkpoint is kept in.
type ConfigMaps interface {
	Public
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, c *corev1.ConfigMap, opts metav1.UpdateOptions) (*corev1.ConfigMap, error)
}

// Public are the ConfigMaps that all users may read.
type Public interface {
	Apply(ctx context.Context, c *applycorev1.ConfigMapApplyConfiguration, opts metav1.ApplyOptions) (*corev1.ConfigMap, error)
}

// Options of a tracker. Its clients and its sink have to be there.
type Options struct {
	Metadata   metadata.Interface
	Discovery  Discovery
	ConfigMaps ConfigMaps
	Sink       Sink
	Log        logr.Logger

	// Public are the ConfigMaps of [ownership.ScopeNamespace], in which the leader publishes what is
	// tracked; nil publishes nothing. Namespace is that of ConfigMaps, for readers.
	Public    Public
	Namespace string

	// Name of the ConfigMap; "k8sconnect-tracker" by default.
	Name string
	// Labels and Annotations that it gets if it has to be created.
	Labels, Annotations map[string]string
	// ExcludeNamespaces whose objects are not tracked.
	ExcludeNamespaces []string
	// ExcludeKinds that are not tracked, beside those that never are.
	ExcludeKinds []schema.GroupKind
	// Grace is how long a change waits for its hint before it is reported without a user; half a
	// second by default. The hint came first, but may be read later.
	Grace time.Duration
	// Finish, if set, is called once at the end, when the sink has everything, so that it
	// settles what it can before the last checkpoint is stored.
	Finish func()
	// StoreEvery is how often the checkpoint is stored, whatever happens; 10 seconds by
	// default.
	StoreEvery time.Duration
}

// queuedHints is how many hints may wait to be looked at.
const queuedHints = 4096

// listsAtOnce is how many kinds are listed at the same time, so that a start is
// gentle to the API server and takes little memory.
const listsAtOnce = 4

// Tracker tracks the owners of all objects of a cluster. It is a Prometheus
// collector of its own metrics.
type Tracker struct {
	opts    Options
	queue   chan ownership.Hint
	queued  atomic.Int64 // size of queue in bytes
	ready   atomic.Bool
	changed chan struct{} // the kinds that there are may have changed
	lists   chan struct{} // a place for each list that may be read at once

	permissions permissions

	// id distinguishes the notes of this replica from those of others; noted is their content, and
	// untold is to be added.
	id            string
	noted, untold []unrecorded
	// published is what was published last, without its times.
	published struct {
		content string
		at      time.Time
	}

	mu      sync.Mutex
	state   *state
	asked   bool // to lead
	loops   map[schema.GroupResource]*loop
	loaded  Checkpoint
	pending int       // kinds whose first list is still to come
	gapped  time.Time // when the last gap ended that is declared
}

// loop is the watch of one kind.
type loop struct {
	end  context.CancelFunc
	done sync.WaitGroup
}

// New returns a tracker that Run starts.
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

// Hint passes on what admission saw, and reports whether there was room for it. It never
// blocks.
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

// Lead says whether this replica leads. Until then, it does not. A leader begins by reading what
// the one before it has stored.
func (t *Tracker) Lead(leading bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked = leading; !leading {
		t.state.lead(false, time.Now())
	}
}

// Ready reports whether the first list of every kind was read, or refused.
func (t *Tracker) Ready() bool { return t.ready.Load() }

// Live returns the owners of an object, without those of its status, and the
// version at which it was seen.
func (t *Tracker) Live(uid types.UID) (owners ownership.Owners, resourceVersion string, ok bool) {
	_, owners, resourceVersion, ok = t.Named(uid)
	return owners, resourceVersion, ok
}

// Named is Live, with the kind of the object.
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

// do reports something to the state, and passes the results to the sink.
func (t *Tracker) do(tell func(*state) []*pendingChange) {
	t.mu.Lock()
	given := tell(t.state)
	t.mu.Unlock()
	for _, m := range given {
		for i, o := range m.occurrences {
			if !o.Notable() {
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
