// Package prefetch reads the live objects of a whole plan as soon as a run begins, one read a kind,
// concurrently, so that later phases need not wait for reads. Start with [Start].
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
	// most bounds the objects of a plan that are prefetched, because they are kept until their
	// phase. Larger plans have long phases, compared to which reads cost little.
	most = 2_000
	// fresh is how long a read counts. A later phase, after a wait for readiness, say, reads for
	// itself.
	fresh = 10 * time.Second
)

// Reader answers reads from the prefetch, and asks the server otherwise.
type Reader struct {
	server object.LiveReader
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu     sync.Mutex
	groups map[schema.GroupVersionKind]*group
	// stale: something was written, so that only absences count.
	stale bool
}

// group holds the objects of one kind.
type group struct {
	kind object.Kind
	done chan struct{} // closed when all are read

	// The rest is written before done is closed, and read after.
	read map[object.Ref]reading
	at   time.Time
}

type reading struct {
	live *unstructured.Unstructured
	err  error
}

// Start begins to read the objects of all phases whose kinds are served. The caller must call
// Close. Except for Live, the Reader is not safe for concurrent use.
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

// Live is [object.LiveReader.Live]. Each prefetched object is returned once; a second call reads
// from the server.
func (r *Reader) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	read := r.await(ctx, kind, refs)
	var rest []object.Ref
	var at []int // the positions of the rest in refs
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

// await waits for the read of a kind, and takes out the requested objects that still count.
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

// Stale makes everything be read again from here on, because a write, or a controller after it, may
// change any object. Absence stays valid: creates are conditional on absence. It must not be called
// during a call of Live.
func (r *Reader) Stale() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = true
}

// Close ends the read.
func (r *Reader) Close() {
	r.cancel()
	r.all.Wait()
}
