package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/recorder"
)

// model is a cluster in which paths change owners, with two replicas that record the changes. It
// knows the true history.
type model struct {
	random *rand.Rand
	store  *memory
	// happened lists all occurrences in order, each with the replica that had the hint; -1 means
	// none.
	happened []ownership.Occurrence
	hinted   []int
	owner    map[string]int // by object and path
	replicas [2]*replica
	leader   int
	// checkpoint is the number of occurrences at the start of happened that are settled.
	checkpoint int
}

// replica is a recorder, together with what its tracker has reported.
type replica struct {
	*recorder.Recorder
	handle  *handle
	dead    atomic.Bool
	seen    int      // index into happened
	settled sync.Map // by index in happened
	stop    context.CancelFunc
	ended   chan struct{}
}

var errDown = errors.New("no answer")

// start starts a replica. It sees everything after the checkpoint again, without hints.
func (m *model) start(i int) {
	r := &replica{ended: make(chan struct{}), seen: m.checkpoint}
	r.handle = &handle{memory: m.store}
	random := rand.New(rand.NewPCG(m.random.Uint64(), 2))
	r.handle.before = func(string) error {
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		return r.whim(random)
	}
	r.handle.after = func(string) error { return r.whim(random) } // it is done, and the caller does not know
	r.Recorder = recorder.New(r.handle, recorder.Options{Namespace: "k8sconnect", WritesPerSecond: 20})
	r.Lead(i == m.leader)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() {
		defer close(r.ended)
		_ = r.Run(ctx)
	}()
	m.replicas[i] = r
	for r.seen < len(m.happened) {
		r.see(m, i, false)
	}
}

func (r *replica) whim(random *rand.Rand) error {
	switch {
	case r.dead.Load():
		return errDown
	case random.IntN(20) == 0:
		return apierrors.NewServerTimeout(resource(), "get", 1)
	}
	return nil
}

// see reports the next change to a replica.
func (r *replica) see(m *model, i int, withHint bool) {
	n := r.seen
	o := m.happened[n]
	if !withHint || m.hinted[n] != i {
		// A replica without a hint has not seen the values of the change either.
		o.User, o.Kind, o.Forced = "", ownership.Lost, false
	}
	r.seen++
	r.Record(o, func(ownership.Outcome) { r.settled.Store(n, true) })
}

// happens changes the owner of a path.
func (m *model) happens() {
	object, path := m.random.IntN(5), m.random.IntN(4)
	key := fmt.Sprint(object, path)
	from := m.owner[key]
	to := (from + 1 + m.random.IntN(2)) % 3
	m.owner[key] = to
	o := ownership.Occurrence{
		Object:     ownership.Object{APIVersion: "v1", Kind: "Thing", Namespace: "prod", Name: fmt.Sprint("o", object), UID: types.UID(fmt.Sprint(object))},
		Transition: taken(fmt.Sprint("p", path), from, to),
		Occasion:   ownership.Occasion{ResourceVersion: fmt.Sprint(100 + len(m.happened)), Time: time.Now(), User: "alice"},
	}
	hint := m.random.IntN(3) - 1
	if hint < 0 {
		o.User = ""
	}
	m.happened, m.hinted = append(m.happened, o), append(m.hinted, hint)
}

func taken(path string, from, to int) ownership.Transition {
	owner := func(n int) []managedfields.Owner {
		return []managedfields.Owner{{Manager: []string{"argo", "flux", "helm"}[n], Operation: "Apply", APIVersion: "v1"}}
	}
	return ownership.Transition{Path: fieldpath.Field("spec", path), Kind: ownership.Taken, Before: owner(from), After: owner(to), Forced: true}
}

// save makes the leader store the checkpoint: how many occurrences are settled.
func (m *model) save() {
	leader := m.replicas[m.leader]
	for m.checkpoint < leader.seen {
		if _, ok := leader.settled.Load(m.checkpoint); !ok {
			return
		}
		m.checkpoint++
	}
}

// restart ends a replica, gracefully or not. The other replica leads then.
func (m *model) restart(i int, killed bool) {
	r := m.replicas[i]
	r.dead.Store(killed)
	r.stop()
	if !killed {
		<-r.ended
	}
	m.leader = 1 - i
	m.replicas[m.leader].Lead(true)
	time.Sleep(time.Duration(m.random.IntN(5000)) * time.Millisecond)
	m.start(i)
}

// tally is the expected record of one path between two owners.
type tally struct {
	Count       int
	First, Last string
	To          string
}

// Edge case 82: two replicas write, fail, are killed, restart and take turns leading. The records
// then contain exactly what happened, once.
func TestModel(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runModel(t, seed) })
		})
	}
}

func runModel(t *testing.T, seed uint64) {
	m := &model{random: rand.New(rand.NewPCG(seed, 1)), store: newMemory(), owner: map[string]int{}}
	m.start(0)
	m.start(1)
	restarts := 0
	for range 600 {
		time.Sleep(time.Duration(m.random.ExpFloat64() * float64(time.Second)))
		synctest.Wait()
		switch n := m.random.IntN(100); {
		case n < 60:
			m.happens()
		case n < 62:
			m.restart(m.random.IntN(2), n == 60)
			restarts++
		case n < 65:
			m.save()
		}
		for i, r := range m.replicas {
			for r.seen < len(m.happened) && m.random.IntN(3) > 0 {
				r.see(m, i, true)
			}
		}
	}
	for i, r := range m.replicas {
		for r.seen < len(m.happened) {
			r.see(m, i, true)
		}
	}
	time.Sleep(30 * time.Minute)
	m.save()
	if m.checkpoint != len(m.happened) {
		t.Errorf("%d of %d are settled", m.checkpoint, len(m.happened))
	}
	if diff := cmp.Diff(m.truth(), reported(t, m)); diff != "" {
		t.Errorf("after %d restarts, records (-happened +recorded):\n%s", restarts, diff)
	}
	if m.store.writes.Load() > int64(len(m.happened)) {
		t.Errorf("%d writes for %d takeovers", m.store.writes.Load(), len(m.happened))
	}
	for _, r := range m.replicas {
		r.stop()
		<-r.ended
	}
}

func (m *model) truth() map[string]tally {
	out := map[string]tally{}
	for _, o := range m.happened {
		key := keyOf(string(o.Object.UID), o.Path.String(), o.Before[0].Manager, o.After[0].Manager)
		now := o.Time.UTC().Format(time.RFC3339)
		v, ok := out[key]
		if !ok {
			v.First = now
		}
		v.Count, v.Last, v.To = v.Count+1, now, o.After[0].Manager
		out[key] = v
	}
	return out
}

// reported returns the content of the records, and checks that any user in them is right.
func reported(t *testing.T, m *model) map[string]tally {
	out := map[string]tally{}
	for _, r := range m.store.all() {
		for _, e := range r.Entries {
			key := keyOf(string(r.Object.UID), e.Path, e.From[0].Manager, e.To[0].Manager)
			if _, ok := out[key]; ok {
				t.Errorf("%s twice", key)
			}
			out[key] = tally{Count: e.Count, First: e.First.UTC().Format(time.RFC3339), Last: e.Last.UTC().Format(time.RFC3339), To: e.To[0].Manager}
			last := e.ResourceVersions[len(e.ResourceVersions)-1]
			i := slices.IndexFunc(m.happened, func(o ownership.Occurrence) bool { return o.ResourceVersion == last })
			if judged := e.Kind == ownership.Taken; judged != e.Forced || e.User != "" && !judged {
				t.Errorf("%s: %s, forced: %v, by %q", key, e.Kind, e.Forced, e.User)
			}
			if e.User != "" && e.User != m.happened[i].User {
				t.Errorf("%s: got user %q, want %q", key, e.User, m.happened[i].User)
			}
		}
		if r.Lost > 0 || r.Dropped > 0 {
			t.Errorf("%s: %d lost, %d dropped", r.Name, r.Lost, r.Dropped)
		}
	}
	return out
}

func keyOf(uid, path, a, b string) string {
	return fmt.Sprintf("%s %s %s<>%s", uid, path, min(a, b), max(a, b))
}
