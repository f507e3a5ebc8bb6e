package wait

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// receive takes in what a view tells. It returns views that are to be followed in its
// place.
func (r *run) receive(ctx context.Context, m message) []*view {
	v := m.view
	switch {
	case m.compiled != nil:
		v.served(m.kind, m.compiled)
		r.evaluateAll(ctx, v)
	case m.explained != nil:
		r.explained(*m.explained)
	case m.late != nil:
		r.lateExplained(m.late, m.causes)
	case m.item != nil:
		r.absentFor(m.item, m.why)
	case m.gone:
		r.unserved(ctx, v, m.err)
	case m.change != nil:
		r.change(ctx, v, m.change)
	default:
		v.ended = m.err
		parts := v.split()
		r.views = append(r.views, parts...)
		// Nothing will be known of what is left: the answer cannot be yes.
		r.stop = r.stop || len(parts) == 0 && (v.selecting() || v.pending > 0)
		return parts
	}
	return nil
}

// served notes that the view's kind is served now.
func (v *view) served(kind object.Kind, compiled map[*Goal]*conditions) {
	v.kind, v.compiled, v.unserved = kind, compiled, nil
	for _, it := range v.named {
		it.ref.GVK = kind.GVK
		if !kind.Namespaced {
			it.ref.Namespace = ""
		}
	}
	if !kind.Namespaced {
		v.namespace = ""
	}
}

// evaluateAll evaluates again what is there of a view, by conditions that may be other
// ones.
func (r *run) evaluateAll(ctx context.Context, v *view) {
	for _, it := range v.all() {
		if it.live != nil {
			r.evaluate(ctx, it)
		}
	}
}

// unserved notes that the view's kind is not served, so that no object of it is
// there.
func (r *run) unserved(ctx context.Context, v *view, err error) {
	if v.unserved == nil {
		r.emit(event.Waiting{For: "a kind: " + err.Error()})
	}
	v.unserved, v.synced, v.blind = err, false, nil
	if errors.Unwrap(err) != nil { // In another version, or by a server that is away, they may be there.
		v.blind = err
		return
	}
	for _, it := range v.all() {
		r.gone(ctx, it)
	}
}

func (r *run) change(ctx context.Context, v *view, change object.Change) {
	switch c := change.(type) {
	case object.Present:
		v.blind = nil
		if it := r.find(v, c.Object); it != nil {
			r.present(ctx, it, c.Object)
		}
	case object.Gone:
		uid := c.Object.GetUID()
		if it := v.known(c.Object); it != nil && (uid == "" || it.uid == "" || it.uid == uid) {
			r.gone(ctx, it)
		}
	case object.Synced:
		v.blind, v.synced, v.seen = nil, true, true
	case object.Unreadable:
		v.blind = c.Err
	}
}

// known returns the item of an object, nil if it is none that is waited for.
func (v *view) known(u *unstructured.Unstructured) *item {
	if v.selecting() {
		return v.selected[key{u.GetNamespace(), u.GetName()}]
	}
	return v.named[u.GetName()]
}

// find is known, and adds what a selector found. To wait until all that matches is
// gone means what matched when the wait began; everything else that comes to match
// counts too.
func (r *run) find(v *view, u *unstructured.Unstructured) *item {
	it := v.known(u)
	if it != nil && !it.away() || !v.selecting() {
		return it
	}
	if v.seen && v.goal.waitsFor(condition.Delete) {
		return nil
	}
	ref := object.RefOf(u)
	ref.GVK = v.kind.GVK
	it = r.add(&item{ref: ref, view: v, goal: v.goal})
	v.selected[key{ref.Namespace, ref.Name}] = it
	r.emit(event.Awaited{Ref: ref})
	return it
}

// split makes a view for each name of one that we may not list.
func (v *view) split() []*view {
	var views []*view
	for _, sight := range v.sight.Split(v.ended) {
		name := sight.Names[0]
		it := v.named[name]
		one := &view{
			sight: sight, typ: v.typ, kind: v.kind, namespace: v.namespace,
			named: map[string]*item{name: it}, compiled: v.compiled,
		}
		if !it.done {
			one.pending = 1
		}
		it.view = one
		views = append(views, one)
	}
	if views != nil {
		v.named, v.pending = map[string]*item{}, 0
	}
	return views
}
