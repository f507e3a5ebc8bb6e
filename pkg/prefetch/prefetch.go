// Package prefetch reads the live objects of a plan at the beginning of a run, so that later phases
// need not wait. Call [Start], then [Reader.Live]. It never writes.
package prefetch

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

const (
	// A plan with more objects gains little from a prefetch, because reads take only a small part
	// of each phase.
	most = 2_000
	// Objects that were prefetched longer ago than this are read again, for example in a phase that
	// follows a wait for readiness.
	fresh = 10 * time.Second
)

// Reader returns prefetched objects, and reads all others from the server.
type Reader struct {
	server object.LiveReader
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu     sync.Mutex
	groups map[schema.GroupVersionKind]*group
	// Once the run has written something, prefetched objects are stale, but prefetched absences are
	// not.
	stale bool
}

type group struct {
	kind object.Kind
	done chan struct{} // closed once all objects have been read

	// both are set before done is closed
	read map[object.Ref]reading
	at   time.Time
}

type reading struct {
	live *unstructured.Unstructured
	err  error
}

// Start starts reading the objects of all phases whose kinds are served. The caller must call
// Close. Only Live may be called concurrently.
func Start(ctx context.Context, server object.LiveReader, p *plan.Plan) *Reader {
	r := &Reader{server: server, cancel: func() {}}
	objects := 0
	for _, ph := range p.Phases {
		objects += len(ph.Items)
	}
	if objects > most {
		return r
	}
	refs := map[schema.GroupVersionKind][]object.Ref{}
	r.groups = map[schema.GroupVersionKind]*group{}
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			if item.Kind.Resource == "" {
				continue
			}
			refs[item.GVK] = append(refs[item.GVK], item.Ref)
			if r.groups[item.GVK] == nil {
				r.groups[item.GVK] = &group{kind: item.Kind, done: make(chan struct{}), read: map[object.Ref]reading{}}
			}
		}
	}
	ctx, r.cancel = context.WithCancel(ctx)
	for gvk, g := range r.groups {
		r.all.Go(func() {
			defer close(g.done)
			server.Live(ctx, g.kind, refs[gvk], func(i int, live *unstructured.Unstructured, err error) {
				g.read[refs[gvk][i]] = reading{live, err}
			})
			g.at = time.Now()
		})
	}
	return r
}

// Live implements [object.LiveReader]. It returns each prefetched object only once; later calls
// read it from the server.
func (r *Reader) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	read := r.await(ctx, kind, refs)
	var rest []object.Ref
	var at []int // the position in refs of each Ref in rest
	for i, ref := range refs {
		if got, ok := read[ref]; ok {
			visit(i, got.live, got.err)
			continue
		}
		rest, at = append(rest, ref), append(at, i)
	}
	if len(rest) > 0 {
		r.server.Live(ctx, kind, rest, func(i int, live *unstructured.Unstructured, err error) { visit(at[i], live, err) })
	}
}

// Items is like Live, but for items of several kinds. Calls to visit for the same kind are not
// concurrent.
func (r *Reader) Items(ctx context.Context, items []*plan.Item, visit func(item *plan.Item, live *unstructured.Unstructured, err error)) {
	groups := map[schema.GroupVersionKind][]*plan.Item{}
	for _, item := range items {
		groups[item.GVK] = append(groups[item.GVK], item)
	}
	var kinds sync.WaitGroup
	for _, group := range groups {
		kinds.Go(func() {
			refs := make([]object.Ref, len(group))
			for i, item := range group {
				refs[i] = item.Ref
			}
			r.Live(ctx, group[0].Kind, refs, func(i int, live *unstructured.Unstructured, err error) { visit(group[i], live, err) })
		})
	}
	kinds.Wait()
}

// await removes the objects from the prefetch, and returns those that are still valid.
func (r *Reader) await(ctx context.Context, kind object.Kind, refs []object.Ref) map[object.Ref]reading {
	r.mu.Lock()
	g := r.groups[kind.GVK]
	r.mu.Unlock()
	if g == nil || g.kind.Resource != kind.Resource || g.kind.Namespaced != kind.Namespaced {
		return nil
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		return nil
	}
	if time.Since(g.at) > fresh {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := map[object.Ref]reading{}
	for _, ref := range refs {
		got, ok := g.read[ref]
		if !ok {
			continue
		}
		delete(g.read, ref)
		if !r.stale || got.live == nil && got.err == nil {
			taken[ref] = got
		}
	}
	return taken
}

// Stale invalidates all prefetched objects, because a write or a controller's reaction may change
// any of them. An absence stays valid, because a create fails if the object exists. Stale must not
// be called during Live.
func (r *Reader) Stale() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = true
}

// Close stops all reads and waits for them to end.
func (r *Reader) Close() {
	r.cancel()
	r.all.Wait()
}
