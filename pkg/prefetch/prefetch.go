// Package prefetch reads the live objects of a plan at the beginning of a run, so that later phases
// need not wait. Call [Start], then [Reader.Live]. It never writes.
package prefetch

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

const (
	// most is the largest number of prefetched objects that wait in memory for their phase.
	most = 1_500
	// Objects that were prefetched longer ago than this are read again, for example in a phase that
	// follows a wait for readiness.
	fresh = 10 * time.Second
)

// Reader returns prefetched objects, and reads all others from the server.
type Reader struct {
	server object.LiveReader
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu     sync.Mutex
	groups map[schema.GroupVersionKind]*group // being read, or read
	next   []*group                           // to be read, in the order of the phases
	// ahead is the number of objects in groups that Live has not returned yet.
	ahead int
	// Once the run has written something, prefetched objects are stale, but prefetched absences are
	// not.
	stale bool
}

type group struct {
	kind object.Kind
	refs []object.Ref
	done chan struct{} // closed once all objects have been read

	// both are set before done is closed
	read map[object.Ref]reading
	at   time.Time
}

type reading struct {
	live *unstructured.Unstructured
	err  error
}

// Start starts reading the objects whose kinds are served, in the order of the phases. It reads at
// most 1,500 objects ahead, and continues while Live returns them. A kind with more objects is not
// prefetched. The caller must call Close. Only Live may be called concurrently.
func Start(ctx context.Context, server object.LiveReader, p *plan.Plan) *Reader {
	r := &Reader{server: server, groups: map[schema.GroupVersionKind]*group{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	known := map[schema.GroupVersionKind]*group{}
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			if item.Kind.Resource == "" {
				continue
			}
			g := known[item.GVK]
			if g == nil {
				g = &group{kind: item.Kind, done: make(chan struct{}), read: map[object.Ref]reading{}}
				known[item.GVK], r.next = g, append(r.next, g)
			}
			g.refs = append(g.refs, item.Ref)
		}
	}
	r.next = slices.DeleteFunc(r.next, func(g *group) bool { return len(g.refs) > most })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proceed()
	return r
}

// proceed starts to read the next groups. The caller must hold the lock. After a write, objects
// that exist would have to be read again, so proceed does nothing.
func (r *Reader) proceed() {
	for len(r.next) > 0 && !r.stale && r.ctx.Err() == nil {
		g := r.next[0]
		if r.ahead+len(g.refs) > most {
			return
		}
		r.next, r.ahead, r.groups[g.kind.GVK] = r.next[1:], r.ahead+len(g.refs), g
		r.all.Go(func() {
			defer close(g.done)
			r.server.Live(r.ctx, g.kind, g.refs, func(i int, live *unstructured.Unstructured, err error) {
				g.read[g.refs[i]] = reading{live, err}
			})
			g.at = time.Now()
		})
	}
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
	g := r.group(kind)
	if g == nil || g.kind.Resource != kind.Resource || g.kind.Namespaced != kind.Namespaced {
		return nil
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.proceed()
	outdated := time.Since(g.at) > fresh
	taken := map[object.Ref]reading{}
	for _, ref := range refs {
		got, ok := g.read[ref]
		if !ok {
			continue
		}
		delete(g.read, ref)
		r.ahead--
		if !outdated && (!r.stale || got.live == nil && got.err == nil) {
			taken[ref] = got
		}
	}
	return taken
}

// group returns the prefetched objects of a kind; nil if there are none. A kind whose turn has not
// come is read by the caller, and no longer prefetched.
func (r *Reader) group(kind object.Kind) *group {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = slices.DeleteFunc(r.next, func(g *group) bool { return g.kind.GVK == kind.GVK })
	r.proceed()
	return r.groups[kind.GVK]
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
