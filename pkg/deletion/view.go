package deletion

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// few is up to how many objects of a set are watched each by itself, rather than
// with all else of their kind that the namespace holds.
const few = 6

// view is one watch, and the targets that it is about. It is guarded by the
// engine's lock.
type view struct {
	engine *Engine
	kind   object.Kind
	sel    object.Selection
	// open views take everything that they find for a target, until they are
	// synced.
	open    bool
	targets map[types.NamespacedName]*target
	order   []*target

	// ready is closed when it is known what is there, or that nobody can tell.
	ready chan struct{}
	// synced: what is there was told. kindGone: its kind is not served any more.
	synced, kindGone bool
	// ended is why nothing will be seen any more.
	ended error
	blind blindness
}

// blindness is a time of nothing but errors.
type blindness struct {
	since    time.Time // zero: we see
	failures int
	last     error
	fuse     *time.Timer
}

// viewsOf returns the views that show a set.
func (e *Engine) viewsOf(s Set) []*view {
	if s.Items == nil {
		v := e.newView(s.Kind, s.Selection)
		v.open = true
		return []*view{v}
	}
	var views []*view
	var named []*target
	for _, it := range s.Items {
		t := &target{Item: it, kind: s.Kind}
		if it.Err != nil || it.Absent || len(s.Items) <= few {
			sel := s.Selection
			sel.Name = it.Ref.Name
			views = append(views, e.newView(s.Kind, sel, t))
			continue
		}
		named = append(named, t)
	}
	if len(named) > 0 {
		views = append(views, e.newView(s.Kind, s.Selection, named...))
	}
	return views
}

func (e *Engine) newView(kind object.Kind, sel object.Selection, targets ...*target) *view {
	v := &view{
		engine: e, kind: kind, sel: sel, order: targets,
		targets: map[types.NamespacedName]*target{},
		ready:   make(chan struct{}),
	}
	for _, t := range targets {
		t.view = v
		v.targets[types.NamespacedName{Namespace: t.Ref.Namespace, Name: t.Ref.Name}] = t
	}
	return v
}

// needless tells that there is nothing to see.
func (v *view) needless() bool {
	return len(v.order) == 1 && (v.order[0].Err != nil || v.order[0].Absent)
}

// wait returns when the view is ready.
func (v *view) wait(ctx context.Context) {
	select {
	case <-v.ready:
	case <-ctx.Done():
	}
}

// follow watches until ctx is done, or nothing is to be seen any more. A watch that
// ends with an error that may pass is begun anew.
func (v *view) follow(ctx context.Context) {
	defer v.makeReady()
	switch {
	case v.needless():
		return
	case !v.kind.Kept():
		v.kindIsGone()
		return
	}
	pauses := wait.Backoff{Duration: time.Second, Factor: 1.5, Jitter: 0.2, Steps: 100, Cap: 10 * time.Second}
	missing := false
	for {
		err := v.engine.Server.Watch(ctx, v.kind, v.sel, func(change object.Change) {
			if ctx.Err() == nil { // What fails because we stop is no failure.
				v.tell(change)
			}
		})
		switch {
		case ctx.Err() != nil:
			return
		case meta.IsNoMatchError(err):
			switch { // twice: a server that is just starting may not know it yet
			case missing && isUnserved(err):
				v.kindIsGone()
				return
			case missing:
				v.end(err)
				return
			}
		case apierrors.IsForbidden(err) && v.sel.Name == "" && !v.open:
			v.oneByOne(ctx)
			return
		case !mayPass(err):
			v.end(err)
			return
		default:
			v.tell(object.Unreadable{Err: err})
		}
		missing = meta.IsNoMatchError(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pauses.Step()):
		}
	}
}

// mayPass reports whether it makes sense to watch again.
func mayPass(err error) bool {
	return !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsMethodNotSupported(err) &&
		!apierrors.IsBadRequest(err) && !apierrors.IsNotFound(err)
}

// oneByOne watches each target by its name: who may not list a namespace may be
// allowed to look at these.
func (v *view) oneByOne(ctx context.Context) {
	e := v.engine
	views := make([]*view, len(v.order))
	e.mu.Lock()
	for i, t := range v.order {
		sel := v.sel
		sel.Name = t.Ref.Name
		views[i] = e.newView(v.kind, sel, t)
	}
	e.mu.Unlock()
	var g errgroup.Group
	for _, one := range views {
		g.Go(func() error {
			one.follow(ctx)
			return nil
		})
	}
	for _, one := range views {
		one.wait(ctx)
	}
	v.makeReady()
	_ = g.Wait() // They report by their targets.
}

// tell takes what a watch has to tell.
func (v *view) tell(change object.Change) {
	e := v.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	switch c := change.(type) {
	case object.Present:
		v.sees()
		v.present(c.Object)
	case object.Gone:
		v.sees()
		v.gone(c.Object)
	case object.Synced:
		v.sees()
		v.synced = true
		v.readyLocked()
	case object.Unreadable:
		v.blinded(c.Err)
	}
}

func (v *view) present(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	t, wanted := v.targets[key]
	if !wanted {
		if !v.open || v.synced {
			return // It came later: nobody asked for it to be deleted.
		}
		ref := object.Ref{GVK: v.kind.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}
		t = &target{Item: Item{Ref: ref}, kind: v.kind, view: v}
		v.targets[key] = t
		v.order = append(v.order, t)
	}
	switch {
	case t.done && t.result == event.Gone && t.uid != "" && t.uid != u.GetUID():
		t.uid = "" // Told once.
		v.engine.Emit(event.Warned{Ref: t.Ref, Text: otherNow})
	case t.done:
	case !t.found || !t.started:
		t.found, t.uid = true, u.GetUID()
		t.keep(u)
	case t.uid != u.GetUID():
		v.engine.replaced(t)
	default:
		v.engine.see(t, u)
	}
}

func (v *view) gone(u *unstructured.Unstructured) {
	t := v.targets[types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}]
	switch {
	case t == nil, t.done, u.GetUID() != "" && u.GetUID() != t.uid:
	case !t.started:
		t.found, t.uid, t.live = false, "", nil
	case v.sel.Narrowed():
		t.lost = true // It may only have changed, and not match any more.
		v.engine.wake()
	default:
		v.engine.finish(t, event.Deleted{Action: event.Gone})
	}
}

// sees ends a time of errors.
func (v *view) sees() {
	if v.blind.since.IsZero() {
		return
	}
	v.blind.fuse.Stop()
	v.blind = blindness{}
	for _, t := range v.order {
		t.moved = time.Now() // Whether it moved meanwhile, nobody saw.
	}
}

// blinded notes that nothing can be seen. It is told when it begins, and after that
// by whoever sends the requests; when it lasts, that is the end.
func (v *view) blinded(err error) {
	v.blind.failures++
	v.blind.last = err
	if !v.blind.since.IsZero() {
		return
	}
	since := time.Now()
	v.blind.since = since
	v.blind.fuse = time.AfterFunc(blindFor, func() { v.giveUp(since) })
	ref := object.Ref{GVK: v.kind.GVK, Namespace: v.sel.Namespace, Name: v.sel.Name}
	v.engine.Emit(event.Retrying{Ref: ref, Err: redact.Refusal(ref, err), Left: blindFor, Of: blindFor})
}

// giveUp ends a view that has seen nothing but errors since then.
func (v *view) giveUp(since time.Time) {
	v.engine.mu.Lock()
	blind := v.blind
	v.engine.mu.Unlock()
	if blind.since.Equal(since) {
		v.end(&BlindError{For: blindFor, Failures: blind.failures, Err: blind.last})
	}
}

// end notes that nothing will be seen any more.
func (v *view) end(err error) {
	v.engine.mu.Lock()
	v.ended = err
	v.readyLocked()
	v.engine.mu.Unlock()
	v.engine.wake()
}

func (v *view) makeReady() {
	v.engine.mu.Lock()
	defer v.engine.mu.Unlock()
	v.readyLocked()
}

func (v *view) readyLocked() {
	select {
	case <-v.ready:
	default:
		close(v.ready)
	}
}

// kindIsGone: a definition goes when the last of its objects is gone.
func (v *view) kindIsGone() {
	e := v.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	v.kindGone = true
	for _, t := range v.order {
		switch {
		case t.done:
		case !t.started:
			t.found = false
		default:
			e.finish(t, event.Deleted{Action: event.Gone, Reason: "its kind is not served any more"})
		}
	}
	v.readyLocked()
}
