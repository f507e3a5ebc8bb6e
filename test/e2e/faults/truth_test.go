package faults_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// fought is the contested path.
const fought = ".data.k"

// truth is the actual history of ConfigMaps with several managers, as the writers know it: they
// write each object in sequence, and read it after a failed write.
type truth struct {
	client   dynamic.ResourceInterface
	subjects []*contested
	taken    atomic.Int64 // all takeovers
}

// contested is a ConfigMap with the number of takeovers of its value, by managers.
type contested struct {
	mu    sync.Mutex
	name  string
	uid   types.UID
	owner string
	takes map[string]int // by pair of owners, unordered
	taken *atomic.Int64
	// lastTaken is the time of the server's response to the last takeover.
	lastTaken time.Time
}

// writes counts the results of a load's writes.
type writes struct {
	mu      sync.Mutex
	done    int
	denied  []string
	slowest time.Duration
}

// newTruth creates n ConfigMaps in a namespace, owned by the manager "first".
func newTruth(t *testing.T, client dynamic.Interface, namespace string, n int) *truth {
	t.Helper()
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	tr := &truth{client: client.Resource(configMaps).Namespace(namespace)}
	for i := range n {
		c := &contested{name: fmt.Sprintf("c%05d", i), takes: map[string]int{}, taken: &tr.taken}
		if err := c.write(t.Context(), tr.client, "first", true, "0"); err != nil {
			t.Fatal(err)
		}
		tr.subjects = append(tr.subjects, c)
	}
	return tr
}

// load writes random objects as several managers until ctx ends: by forced apply or by update,
// always with a new value. If the server fails a write for its own reasons, the writer reads the
// object. Denied writes are counted.
func (tr *truth) load(ctx context.Context, managers int, seed uint64) *writes {
	w := &writes{}
	var all sync.WaitGroup
	for m := range managers {
		random := rand.New(rand.NewPCG(seed, uint64(m)))
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				c := tr.subjects[random.IntN(len(tr.subjects))]
				value := fmt.Sprintf("%d-%d-%d", seed, m, n)
				started := time.Now()
				// The write itself is not cancelled: its outcome would be unknown.
				err := c.write(context.WithoutCancel(ctx), tr.client, fmt.Sprint("manager-", m), random.IntN(2) == 0, value)
				w.add(time.Since(started), err)
			}
		})
	}
	all.Wait()
	return w
}

func (w *writes) add(took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.done++
		w.slowest = max(w.slowest, took)
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || strings.Contains(err.Error(), "webhook"):
		w.denied = append(w.denied, err.Error())
	}
}

// write sets a new value as a manager, and records the former owner.
func (c *contested) write(ctx context.Context, client dynamic.ResourceInterface, manager string, apply bool, value string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": c.name},
		"data":     map[string]any{"k": value},
	}}
	var got *unstructured.Unstructured
	var err error
	owner := manager + "/Apply"
	if apply {
		got, err = client.Apply(ctx, c.name, object, metav1.ApplyOptions{FieldManager: manager, Force: true})
	} else {
		owner = manager + "/Update"
		got, err = client.Update(ctx, object, metav1.UpdateOptions{FieldManager: manager})
	}
	if err != nil {
		got = c.look(ctx, client)
		if is, _, _ := unstructured.NestedString(got.Object, "data", "k"); is != value {
			return err
		}
	}
	c.uid = got.GetUID()
	if c.owner != "" && c.owner != owner && !isMigration(c.owner, owner) {
		c.takes[pair(c.owner, owner)]++
		c.taken.Add(1)
		c.lastTaken = time.Now()
	}
	c.owner = owner
	return nil
}

// isMigration reports whether a manager that updated the value now applies it. That takes nothing
// from another manager: all tools migrate to server-side apply like this.
func isMigration(from, to string) bool {
	manager, updated := strings.CutSuffix(from, "/Update")
	return updated && to == manager+"/Apply"
}

// look reads the object, retrying until it succeeds.
func (c *contested) look(ctx context.Context, client dynamic.ResourceInterface) *unstructured.Unstructured {
	for {
		got, err := client.Get(ctx, c.name, metav1.GetOptions{})
		if err == nil {
			return got
		}
		if apierrors.IsNotFound(err) {
			return &unstructured.Unstructured{Object: map[string]any{}}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func pair(a, b string) string { return strings.Join(slices.Sorted(slices.Values([]string{a, b})), " ") }

// total returns the number of takeovers.
func (tr *truth) total() int { return int(tr.taken.Load()) }

// message is the webhook's report on the writes so far.
type message struct {
	records []ownership.Record
	// gaps reports whether gaps are declared: records may then contain fewer takeovers.
	gaps bool
	// wrong is a fault outside of the records; final reports that it is permanent.
	wrong string
	final bool
	// idle is set while no replica has anything left to record.
	idle bool
}

// idleFor is how long all replicas have to be idle before a fault is final: a busy machine may
// delay the last writes.
const idleFor = time.Minute

// settled waits until the records match the truth. It returns the remaining differences, one line
// an object, when ctx ends or they are final. With declared gaps, a record may contain fewer
// takeovers, but none that did not happen, and its last owner has to be right.
func (tr *truth) settled(ctx context.Context, read func(context.Context) (message, error)) []string {
	differences := []string{"no records were read"}
	for busy := time.Now(); ; {
		is, err := read(ctx)
		switch {
		case err == nil:
			var final bool
			differences, final = tr.compare(is.records, is.gaps)
			if is.wrong != "" {
				differences = append([]string{is.wrong}, differences...)
			}
			if !is.idle {
				busy = time.Now()
			}
			if len(differences) == 0 || final || is.final || time.Since(busy) > idleFor {
				return differences
			}
		case ctx.Err() == nil:
			differences = []string{err.Error()}
		}
		select {
		case <-ctx.Done():
			return differences
		case <-time.After(time.Second):
		}
	}
}

// compare returns the differences, and whether a record contains takeovers that never happened,
// which it would never remove.
func (tr *truth) compare(records []ownership.Record, gaps bool) (differences []string, final bool) {
	byUID := map[types.UID]ownership.Record{}
	for _, r := range records {
		byUID[r.Object.UID] = r
	}
	for _, c := range tr.subjects {
		r, ok := byUID[c.uid]
		if !ok && len(c.takes) > 0 && !gaps {
			differences = append(differences, fmt.Sprintf("%s: no record; want %v", c.name, c.takes))
		}
		if ok {
			differences = append(differences, c.compare(r, gaps)...)
			final = final || c.invented(r)
		}
	}
	return differences, final
}

// invented reports whether a record contains takeovers that never happened and are not marked as
// found after an unwatched period.
func (c *contested) invented(r ownership.Record) bool {
	got := map[string]int{}
	for _, e := range r.Entries {
		if e.Gap || e.Path != fought || len(e.From) != 1 || len(e.To) != 1 {
			return false
		}
		got[pair(held(e.From[0]), held(e.To[0]))] += e.Count
	}
	for parties, n := range got {
		if n > c.takes[parties] {
			return true
		}
	}
	return false
}

func (c *contested) compare(r ownership.Record, gaps bool) []string {
	got, gap := map[string]int{}, false
	for _, e := range r.Entries {
		if e.Path != fought || len(e.From) != 1 || len(e.To) != 1 {
			return []string{fmt.Sprintf("%s: unexpected entry %+v", c.name, e)}
		}
		got[pair(held(e.From[0]), held(e.To[0]))] += e.Count
		gap = gap || e.Gap
	}
	if !gaps {
		if gap || r.Dropped > 0 || !maps.Equal(got, c.takes) {
			return []string{fmt.Sprintf("%s: record says %v (gap %t, dropped %d), want %v", c.name, got, gap, r.Dropped, c.takes)}
		}
		return nil
	}
	if last := latest(r.Entries); len(r.Entries) > 0 && last != c.owner && !isMigration(last, c.owner) {
		return []string{fmt.Sprintf("%s: last owner %s, want %s", c.name, last, c.owner)}
	}
	for parties, n := range got {
		if n > c.takes[parties] && !gap {
			return []string{fmt.Sprintf("%s: %s %d times, which happened %d times", c.name, parties, n, c.takes[parties])}
		}
	}
	return nil
}

func held(h ownership.Holder) string { return h.Manager + "/" + h.Operation }

// latest is the owner after the last event.
func latest(entries []ownership.Entry) string {
	if len(entries) == 0 {
		return ""
	}
	e := slices.MaxFunc(entries, func(a, b ownership.Entry) int {
		return cmp.Compare(newest(a), newest(b))
	})
	return held(e.To[0])
}

// newest is the entry's latest version; the API server's versions increase (KEP-5504).
func newest(e ownership.Entry) uint64 {
	var n uint64
	for _, v := range e.ResourceVersions {
		var is uint64
		_, _ = fmt.Sscan(v, &is)
		n = max(n, is)
	}
	return n
}
