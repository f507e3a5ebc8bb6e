package cli

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// preflightRun gathers what a run makes of its objects, and reports what of it will not work.
type preflightRun struct {
	emit func(event.Event)
	// prunes: the run deletes objects that are not part of the set.
	prunes bool

	// concerned: the plan has an object whose change can be a reason for a remark. Without
	// one nothing is gathered, however many objects others could refer to.
	concerned bool

	mu   sync.Mutex
	seen map[object.Key]preflight.Object
	// changes: one of those objects changes.
	changes bool
	told    map[event.Remarked]bool
	// kept are unchanged objects that may lack a newly pushed image.
	kept []preflight.Kept
}

func newForesight(emit func(event.Event), prunes bool, p *plan.Plan) *preflightRun {
	f := &preflightRun{emit: emit, prunes: prunes, seen: map[object.Key]preflight.Object{}, told: map[event.Remarked]bool{}}
	for _, ph := range p.Phases {
		f.concerned = f.concerned || slices.ContainsFunc(ph.Items, func(item plan.Item) bool { return preflight.Concerns(item.Ref) })
	}
	return f
}

// seeing passes each object that an engine evaluated to all of the functions.
func seeing(all ...func(plan.Item, *unstructured.Unstructured, *unstructured.Unstructured, bool)) func(plan.Item, *unstructured.Unstructured, *unstructured.Unstructured, bool) {
	return func(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
		for _, see := range all {
			see(item, before, after, changes)
		}
	}
}

// see takes in what an engine made of one object.
func (f *preflightRun) see(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !changes {
		if kept, ok := preflight.KeptImage(after); ok {
			f.kept = append(f.kept, kept)
		}
	}
	switch {
	case !f.concerned, !preflight.Needs(item.Ref):
	case changes:
		f.changes = f.changes || preflight.Concerns(item.Ref)
		f.seen[item.Key()] = preflight.Object{Ref: item.Ref, Changes: true, Before: stated(before), After: made(item, stated(after))}
	case !preflight.HasData(item.Ref): // Those are read where a key of them is needed.
		f.seen[item.Key()] = preflight.Object{Ref: item.Ref, After: made(item, unchanged(after))}
	}
}

// made is what has to be kept of an object that was made from a manifest: the manifest,
// which is kept anyway, where the object states nothing beside it.
func made(item plan.Item, after *unstructured.Unstructured) *unstructured.Unstructured {
	if item.Object != nil && reflect.DeepEqual(after.Object, item.Object.Object) {
		return item.Object
	}
	return after
}

// stated is an object without what the server notes of it in its metadata, most of which is
// its managed fields.
func stated(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	less := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	if metadata, ok := less.Object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, field := range []string{"managedFields", "uid", "resourceVersion", "generation", "creationTimestamp"} {
			delete(metadata, field)
		}
		less.Object["metadata"] = metadata
	}
	return less
}

// unchanged is stated without the status, which matters only where something changes.
func unchanged(u *unstructured.Unstructured) *unstructured.Unstructured {
	less := stated(u)
	delete(less.Object, "status")
	return less
}

// report reports on the objects seen so far, each remark once. Without a reader, it asks
// the cluster nothing.
func (f *preflightRun) report(ctx context.Context, p *plan.Plan, reader diagnose.Reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil || !f.changes {
		return
	}
	var objects []preflight.Object
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			o, seen := f.seen[item.Key()]
			if !seen {
				o = preflight.Object{Ref: item.Ref, After: item.Object}
			}
			objects = append(objects, o)
		}
	}
	for _, r := range preflight.Foresee(ctx, reader, preflight.Set{Objects: objects, Prunes: f.prunes}) {
		if !f.told[r] {
			f.told[r] = true
			f.emit(r)
		}
	}
}

// losses reports what the plan's objects still need of what a prune is about to delete.
func losses(p *plan.Plan, emit func(event.Event)) func(applyset.Decision) {
	return func(d applyset.Decision) {
		var objects []*unstructured.Unstructured
		for _, ph := range p.Phases {
			for _, item := range ph.Items {
				objects = append(objects, item.Object)
			}
		}
		var pruned []object.Ref
		for _, m := range d.Doomed {
			pruned = append(pruned, m.Ref)
		}
		for _, r := range preflight.Losses(objects, pruned) {
			emit(r)
		}
	}
}

// before reports what is known before the run waits for what it has applied.
func (f *preflightRun) before(wait func(context.Context, []plan.Item) error, p *plan.Plan) func(context.Context, []plan.Item) error {
	if wait == nil {
		return nil
	}
	return func(ctx context.Context, applied []plan.Item) error {
		f.report(ctx, p, nil)
		return wait(ctx, applied)
	}
}

// tellKept reports, once for a run, images that may have changed since the Pods got them.
func (f *preflightRun) tellKept(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if r, ok := preflight.ImagesMayBeOld(f.kept); ok {
		f.emit(r)
	}
}
