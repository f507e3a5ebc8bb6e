package deletion

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// few is the largest number of objects of a set that are watched one by one. If there are more,
// they are watched together with all others of their kind in the namespace.
const few = 6

func (e *Engine) viewsOf(s Set) []*view {
	if s.Items == nil {
		v := e.newView(&watchset.View{Kind: s.Kind, Selection: s.Selection})
		v.open = true
		return []*view{v}
	}
	var views []*view
	var named []*target
	for _, it := range s.Items {
		t := &target{Item: it, kind: &s.Kind}
		if it.Err != nil || it.Absent || len(s.Items) <= few {
			views = append(views, e.viewOf(s.Kind, s.Selection, t))
			continue
		}
		named = append(named, t)
	}
	if len(named) > 0 {
		views = append(views, e.viewOf(s.Kind, s.Selection, named...))
	}
	return views
}

// share lets the views of a kind in many namespaces use one watch.
func (e *Engine) share(views []*view) {
	first, later := &watchset.Across{Watcher: e.First, Worth: e.WorthAcross}, &watchset.Across{Watcher: e.Server, Worth: e.WorthAcross}
	spread := map[schema.GroupVersionKind]int{}
	for _, v := range views {
		v.Server = later
		if v.First != nil {
			v.First = first
		}
		if !v.knownAbsent() && v.Kind.Kept() {
			spread[v.Kind.GVK]++
		}
	}
	for kind, n := range spread {
		first.Expect(kind, n)
		later.Expect(kind, n)
	}
}

func (e *Engine) viewOf(kind object.Kind, sel object.Selection, targets ...*target) *view {
	sight := &watchset.View{Kind: kind, Selection: sel}
	for _, t := range targets {
		sight.Names = append(sight.Names, t.Ref.Name)
	}
	return e.newView(sight, targets...)
}

func (e *Engine) newView(sight *watchset.View, targets ...*target) *view {
	sight.Server, sight.Patience = e.Server, blindFor
	if e.underway && e.Timeout != nil { // The search may take as long as the deletion.
		sight.Search = max(0, e.Timeout(sight.Kind))
	}
	if !e.underway || e.outlived {
		sight.First = e.First
	}
	if e.outlived {
		sight.Search = glance
	}
	v := &view{
		View: sight, engine: e, order: targets,
		targets: map[types.NamespacedName]*target{},
		ready:   make(chan struct{}),
	}
	for _, t := range targets {
		t.view = v
		v.targets[types.NamespacedName{Namespace: t.Ref.Namespace, Name: t.Ref.Name}] = t
	}
	return v
}

func (v *view) follow(ctx context.Context) {
	defer v.isReady()
	switch {
	case v.knownAbsent():
		return
	case !v.Kind.Kept():
		v.kindIsGone()
		return
	}
	err := v.Follow(ctx, v.receive)
	if ctx.Err() != nil {
		return
	}
	parts := v.Split(err)
	switch {
	case isUnserved(err):
		v.kindIsGone()
	case parts != nil:
		v.oneByOne(ctx, parts)
	default:
		v.end(err)
	}
}

// knownAbsent reports whether there is nothing to watch.
func (v *view) knownAbsent() bool {
	return len(v.order) == 1 && (v.order[0].Err != nil || v.order[0].Absent)
}

func (v *view) oneByOne(ctx context.Context, parts []*watchset.View) {
	views := make([]*view, len(parts))
	v.engine.mu.Lock()
	for i, part := range parts {
		views[i] = v.engine.newView(part, v.order[i])
	}
	v.engine.mu.Unlock()
	var followers sync.WaitGroup
	for _, one := range views {
		followers.Go(func() { one.follow(ctx) })
	}
	for _, one := range views {
		one.wait(ctx)
	}
	v.isReady()
	followers.Wait()
}

func (v *view) receive(change object.Change) {
	e := v.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	switch c := change.(type) {
	case object.Present:
		v.sees()
		v.present(c.Object)
	case object.Gone:
		v.sees()
		v.deleted(c.Object)
	case object.Synced:
		v.sees()
		v.synced = true
		v.isReady()
	case object.Unreadable:
		v.blinded(c.Err)
	}
}

func (v *view) present(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	t, wanted := v.targets[key]
	if !wanted {
		if !v.open || v.synced {
			return // It was created later.
		}
		ref := object.Ref{GVK: v.Kind.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}
		t = &target{Item: Item{Ref: ref}, kind: &v.Kind, view: v}
		v.targets[key] = t
		v.order = append(v.order, t)
	}
	switch {
	case t.started && t.aggregated && t.uid != u.GetUID() && isRemnant(u):
		v.engine.finish(t, event.Deleted{Action: event.Gone}) // sweep deletes the remnant.
	case t.done && t.result == event.Gone && t.uid != "" && t.uid != u.GetUID():
		t.uid = "" // Report this once.
		v.engine.Emit(event.Warned{Ref: t.Ref, Text: otherNow})
	case t.done:
	case !t.found || !t.started:
		t.found, t.uid = true, u.GetUID()
		if v.engine.Admit != nil && v.engine.Finalizer == "" && u.GetDeletionTimestamp() == nil {
			t.refused = v.engine.Admit(t.Ref, u)
		}
		t.remember(u)
	case t.uid != u.GetUID():
		v.engine.finish(t, event.Deleted{Action: event.Gone, Reason: otherNow})
	default:
		v.engine.onRead(t, u)
	}
}

func (v *view) deleted(u *unstructured.Unstructured) {
	t := v.targets[types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}]
	switch {
	case t == nil, t.done, u.GetUID() != "" && u.GetUID() != t.uid:
	case !t.started:
		t.found, t.uid, t.live = false, "", nil
	case v.Selection.Narrowed():
		t.lost = true // Perhaps only its labels have changed.
		v.engine.wake()
	default:
		v.engine.finish(t, event.Deleted{Action: event.Gone})
	}
}

func (v *view) sees() {
	if !v.blind {
		return
	}
	v.blind = false
	for _, t := range v.order {
		if t.passage != nil {
			t.moved = time.Now() // It may have made progress meanwhile.
		}
	}
}

// Only the first failure is reported here; the client reports the others.
func (v *view) blinded(err error) {
	if !v.blind {
		v.blind = true
		ref, left := v.Ref(), v.Tolerates()
		v.engine.Emit(event.Retrying{Ref: ref, Err: redact.Refusal(ref, err), Left: left, Of: left})
	}
}

func (v *view) end(err error) {
	v.engine.mu.Lock()
	v.ended = err
	v.engine.mu.Unlock()
	v.isReady()
	v.engine.wake()
}

// The server removes a CRD only after it has removed the last object of the CRD's kind. So all
// objects of the kind are gone.
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
			e.finish(t, event.Deleted{Action: event.Gone, Reason: "its kind is no longer served"})
		}
	}
}

// acceptedUnseen is the reason for an object that may still be waiting for a finalizer.
const acceptedUnseen = "its deletion was accepted, but you have no permission to get it, so it may still exist"

// askUnseen deletes a target that we have no permission to read. If its UID is unknown, askUnseen
// deletes whichever object has the name. The response contains the UID. A dry run of another
// deletion, bound to this UID, shows whether that object still exists.
func (e *Engine) askUnseen(ctx context.Context, t *target) {
	how := object.Deletion{UID: t.UID, Propagation: e.Propagation, GracePeriod: e.GracePeriod, DryRun: e.DryRun == object.DryRunServer}
	live, err := e.Server.Delete(ctx, *t.kind, t.Ref, how)
	switch {
	case apierrors.IsNotFound(err), isUnserved(err):
		e.mu.Lock()
		defer e.mu.Unlock()
		e.absent(t, "")
		return
	case t.UID != "" && apierrors.IsConflict(err):
		e.reportEnd(t, event.Deleted{Action: event.Gone, Reason: otherNow})
		return
	case err != nil:
		e.fail(ctx, t, "delete", err)
		return
	case live == nil, how.DryRun:
		e.reportEnd(t, event.Deleted{Action: event.Gone})
		return
	}
	e.mu.Lock()
	t.accepted = true
	e.mu.Unlock()
	how.UID, how.DryRun = live.GetUID(), true
	_, err = e.Server.Delete(ctx, *t.kind, t.Ref, how)
	switch {
	case apierrors.IsNotFound(err), isUnserved(err):
		e.reportEnd(t, event.Deleted{Action: event.Gone})
	case apierrors.IsConflict(err):
		e.reportEnd(t, event.Deleted{Action: event.Gone, Reason: otherNow})
	case !e.Wait:
		e.reportEnd(t, event.Deleted{Action: event.Remains, Reason: acceptedUnseen})
	default:
		e.reportEnd(t, event.Deleted{Action: event.Unknown, Reason: acceptedUnseen, Err: t.view.ended})
	}
}
