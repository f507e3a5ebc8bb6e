package judge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// stampName is the annotation in which each write identifies its writer.
	stampName = "judge"
	// adopting is the prefix of the stamp of a write that moves an entry of managed fields.
	adopting = "adopt-"
	// users are the writers; two of them share each manager.
	users = 6
)

// receipt is a writer's knowledge of a write.
type receipt struct {
	user     string
	began    time.Time
	ended    time.Time
	warnings []string
	err      error
}

// load contains the writers and their receipts.
type load struct {
	namespace string
	names     []string
	locks     []sync.Mutex // one for each object, so that its writes are sequential
	done      atomic.Int64

	mu       sync.Mutex
	receipts map[string]receipt // by stamp
}

// writer is one user.
type writer struct {
	dynamic.ResourceInterface
	*load
	user, manager string
	random        *rand.Rand
	count         int
	warnings      []string
}

// HandleWarningHeader stores a warning; each writer writes sequentially.
func (w *writer) HandleWarningHeader(_ int, _, text string) { w.warnings = append(w.warnings, text) }

func newLoad(namespace string, objects int) *load {
	l := &load{namespace: namespace, locks: make([]sync.Mutex, objects), receipts: map[string]receipt{}}
	for n := range objects {
		l.names = append(l.names, fmt.Sprintf("o%05d", n))
	}
	return l
}

// run makes that many writes to random objects, by all users.
func (l *load) run(t *testing.T, config *rest.Config, writes int, seed uint64) {
	t.Helper()
	until := l.done.Load() + int64(writes)
	var all sync.WaitGroup
	for n := range users {
		w := &writer{load: l, user: fmt.Sprint("user-", n), manager: fmt.Sprint("manager-", n/2), random: rand.New(rand.NewPCG(seed, uint64(n)))}
		mine := rest.CopyConfig(config)
		mine.QPS, mine.WarningHandler = -1, w
		mine.Impersonate = rest.ImpersonationConfig{UserName: w.user, Groups: []string{"system:masters"}}
		client, err := dynamic.NewForConfig(mine)
		if err != nil {
			t.Fatal(err)
		}
		w.ResourceInterface = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(l.namespace)
		all.Go(func() {
			for l.done.Load() < until {
				w.write(t.Context(), w.random.IntN(len(l.names)), seed)
			}
		})
	}
	all.Wait()
}

// write makes a write, and stores its receipt.
func (w *writer) write(ctx context.Context, n int, seed uint64) {
	w.locks[n].Lock()
	defer w.locks[n].Unlock()
	defer w.done.Add(1)
	name := w.names[n]
	w.count++
	stamp := fmt.Sprintf("%s/%d/%d", w.user, seed, w.count)
	w.warnings = nil
	r := receipt{user: w.user, began: time.Now()}
	switch w.random.IntN(8) {
	case 0, 1, 2, 3:
		r.err = w.applies(ctx, name, stamp)
	case 4, 5, 6:
		r.err = w.updates(ctx, name, stamp)
	case 7:
		stamp, r.err = w.adopts(ctx, name, stamp)
	}
	r.ended, r.warnings = time.Now(), slices.Clone(w.warnings)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.receipts[stamp] = r
}

// keys are the keys of the data; a path has to quote the last one.
func keys() []string { return []string{"a", "b", "c", "d.conf"} }

// applies applies some keys by force, half of them with values that others also use, so that they
// become shared; sometimes it applies no key, and so owns a map that is not stored.
func (w *writer) applies(ctx context.Context, name, stamp string) error {
	data, none := map[string]any{}, w.random.IntN(8) == 0
	for _, key := range keys() {
		if !none && w.random.IntN(3) > 0 {
			data[key] = fmt.Sprint(w.random.IntN(3))
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{stampName: stamp}}, "data": data,
	}}
	_, err := w.Apply(ctx, name, u, metav1.ApplyOptions{FieldManager: w.manager, Force: true})
	return err
}

// updates reads, changes and writes an object, as controllers do.
func (w *writer) updates(ctx context.Context, name, stamp string) error {
	u, err := w.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return w.applies(ctx, name, stamp) // not created yet
	}
	w.stamp(u, stamp)
	key := keys()[w.random.IntN(len(keys()))]
	if w.random.IntN(4) == 0 {
		unstructured.RemoveNestedField(u.Object, "data", key)
	} else if err := unstructured.SetNestedField(u.Object, fmt.Sprint(w.random.IntN(3)), "data", key); err != nil {
		return err
	}
	_, err = w.Update(ctx, u, metav1.UpdateOptions{FieldManager: w.manager})
	return err
}

func (w *writer) stamp(u *unstructured.Unstructured, stamp string) {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[stampName] = stamp
	u.SetAnnotations(annotations)
}

// adopts merges an updater's entry into the writer's apply entry, as tools do that migrate to
// server-side apply, and returns the stamp that it contained.
func (w *writer) adopts(ctx context.Context, name, stamp string) (string, error) {
	u, err := w.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return stamp, w.applies(ctx, name, stamp)
	}
	entries, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
	from, into := -1, -1
	for i, entry := range entries {
		e := entry.(map[string]any)
		switch {
		case e["operation"] == "Update" && from < 0:
			from = i
		case e["operation"] == "Apply" && e["manager"] == w.manager:
			into = i
		}
	}
	if from < 0 {
		return stamp, w.updates(ctx, name, stamp)
	}
	stamp = adopting + stamp
	source := entries[from].(map[string]any)
	if into < 0 {
		source["operation"], source["manager"] = "Apply", w.manager
	} else {
		target := entries[into].(map[string]any)
		target["fieldsV1"] = merged(target["fieldsV1"].(map[string]any), source["fieldsV1"].(map[string]any))
		entries = slices.Delete(entries, from, from+1)
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": u.GetResourceVersion()},
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "add", "path": "/metadata/annotations/" + stampName, "value": stamp},
	})
	if err != nil {
		return stamp, err
	}
	_, err = w.Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: w.manager})
	return stamp, err
}

func merged(a, b map[string]any) map[string]any {
	for key, below := range b {
		inside, _ := below.(map[string]any)
		has, ok := a[key].(map[string]any)
		if !ok {
			a[key] = below
			continue
		}
		itself := len(has) == 0 || len(inside) == 0 // one of them owns the path, but nothing below it
		a[key] = merged(has, inside)
		if below := a[key].(map[string]any); itself && len(below) > 0 {
			below["."] = map[string]any{}
		}
	}
	return a
}
