package wait

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// follow watches until ctx ends or the view has nothing more to learn. While the kind is not
// served, follow keeps looking it up, even if the kind was served before (edge case 45).
func (e *Engine) follow(ctx context.Context, v *view, report func(message)) {
	kind, goals, compiled := v.kind, v.goals(), v.compiled // Copy these fields, because the run may change the view.
	pauses := untilServed()
	for {
		if kind.Resource == "" {
			var err error
			if kind, compiled, err = e.serve(ctx, v, goals, report); err != nil {
				report(message{view: v, err: err})
				return
			}
			report(message{view: v, kind: kind, compiled: compiled})
		}
		v.sight.Kind = kind
		err := e.watch(ctx, v, compiled, report, func(c object.Change) {
			pauses = untilServed()
			report(message{view: v, change: c})
		})
		if !meta.IsNoMatchError(err) || ctx.Err() != nil {
			report(message{view: v, err: err})
			return
		}
		report(message{view: v, gone: true, err: err})
		kind.Resource = ""
		// Without a pause, a kind that appears in discovery but cannot be listed would be requested
		// in a tight loop.
		if err := retry.For(ctx, pauses.Step()); err != nil {
			report(message{view: v, err: err})
			return
		}
	}
}

// watch follows the view's objects, and requests the kind's schema if a goal needs it. The server
// may publish a schema seconds after its kind.
func (e *Engine) watch(ctx context.Context, v *view, compiled map[*Goal]*conditions, report func(message), change func(object.Change)) error {
	var fault error
	kind := v.sight.Kind
	ctx, end := context.WithCancel(ctx)
	var schema sync.WaitGroup
	if slices.ContainsFunc(slices.Collect(maps.Values(compiled)), func(c *conditions) bool { return c.untyped }) {
		schema.Go(func() {
			typed, err := e.untilPublished(ctx, kind, slices.Collect(maps.Keys(compiled)))
			switch {
			case err != nil:
				fault = err
				end()
			case typed != nil:
				report(message{view: v, kind: kind, compiled: typed})
			}
		})
	}
	err := v.sight.Follow(ctx, change)
	end()
	schema.Wait()
	return cmp.Or(fault, err)
}

// untilPublished requests a kind's schema until the server has one, and returns the goals compiled
// for it; nil if ctx ends. A server without OpenAPI never has a schema, so the pauses grow.
func (e *Engine) untilPublished(ctx context.Context, kind object.Kind, goals []*Goal) (map[*Goal]*conditions, error) {
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.1, Steps: 100, Cap: 30 * time.Second}
	for retry.For(ctx, pauses.Step()) == nil {
		schema, err := e.Source.Schema(ctx, kind)
		if err != nil || schema == nil {
			continue
		}
		compiled := map[*Goal]*conditions{}
		for _, goal := range goals {
			if compiled[goal], err = compileGoal(kind.GVK, schema, goal); err != nil {
				return nil, err
			}
		}
		return compiled, nil
	}
	return nil, nil
}

func untilServed() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.2, Jitter: 0.1, Steps: 100, Cap: 2 * time.Second}
}

func (e *Engine) serve(ctx context.Context, v *view, goals []*Goal, report func(message)) (object.Kind, map[*Goal]*conditions, error) {
	pauses := untilServed()
	for {
		kind, err := e.Source.Resource(ctx, v.typ)
		if err == nil {
			compiled, err := e.compileAll(ctx, kind, goals)
			return kind, compiled, err
		}
		if !meta.IsNoMatchError(err) {
			return kind, nil, err
		}
		report(message{view: v, gone: true, err: err})
		if err := retry.For(ctx, pauses.Step()); err != nil {
			return kind, nil, err
		}
	}
}

// receive handles a message. If the message ends a view, receive returns the views that replace it;
// nil if there are none.
func (r *run) receive(ctx context.Context, m message) []*view {
	v := m.view
	switch {
	case m.compiled != nil:
		v.served(m.kind, m.compiled)
		for _, it := range v.items() {
			if it.live != nil {
				r.evaluate(ctx, it)
			}
		}
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
		// Objects that the view has not seen remain unknown, so the wait cannot succeed.
		r.stop = r.stop || len(parts) == 0 && (v.selecting() || v.pending > 0)
		return parts
	}
	return nil
}

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

func (r *run) unserved(ctx context.Context, v *view, err error) {
	if v.unserved == nil {
		r.Emit(event.Waiting{For: "a kind: " + err.Error()})
	}
	v.unserved, v.synced, v.blind = err, false, nil
	if errors.Unwrap(err) != nil { // They may exist at another version, or behind a server that does not answer.
		v.blind = err
		return
	}
	for _, it := range v.items() {
		r.objectGone(ctx, it)
	}
}

// change ignores the deletion of an earlier object with the same name.
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
			r.objectGone(ctx, it)
		}
	case object.Synced:
		v.blind, v.synced, v.seen = nil, true, true
	case object.Unreadable:
		v.blind = c.Err
	}
}

func (v *view) known(u *unstructured.Unstructured) *item {
	if v.selecting() {
		return v.selected[key{u.GetNamespace(), u.GetName()}]
	}
	return v.named[u.GetName()]
}

// find adds an item if a selector matches a new object. A wait for deletion covers only the objects
// that matched at the beginning.
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
	r.Emit(event.Awaited{Ref: ref})
	return it
}

// split returns one view for each named object, if we lack permission to list the view's objects.
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
