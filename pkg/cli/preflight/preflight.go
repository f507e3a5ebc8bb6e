// Package preflight collects the objects of a run for the rules of diagnose/preflight, and reports
// their findings.
package preflight

import (
	"context"
	"maps"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Run collects the objects of one run.
type Run struct {
	emit func(event.Event)
	// prunes means that the run deletes members that are no longer in the input.
	prunes bool
	// concerned means that some change in the plan can cause a finding. Otherwise nothing is
	// collected.
	concerned bool

	mu       sync.Mutex
	seen     map[object.Key]preflight.Object
	changes  bool
	reported map[event.Remarked]bool
	// kept lists the unchanged objects whose images may have been pushed again under the same tag.
	kept []preflight.Kept
}

// New returns a collector for the objects of the plan. prunes means that the run deletes members of
// a set that are no longer in the input.
func New(emit func(event.Event), prunes bool, p *plan.Plan) *Run {
	f := &Run{emit: emit, prunes: prunes, seen: map[object.Key]preflight.Object{}, reported: map[event.Remarked]bool{}}
	for item := range p.Items() {
		f.concerned = f.concerned || preflight.Concerns(item.Ref)
	}
	return f
}

// See collects an evaluated object; see Seen of the engine of apply. Calls may be concurrent.
func (f *Run) See(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
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
		f.seen[item.Key()] = preflight.Object{Ref: item.Ref, Changes: true, Before: withoutServerMetadata(before), After: made(item, withoutServerMetadata(after))}
	case !preflight.HasData(item.Ref): // Data is read when a key is needed.
		less := withoutServerMetadata(after)
		delete(less.Object, "status")
		f.seen[item.Key()] = preflight.Object{Ref: item.Ref, After: made(item, less)}
	}
}

// made returns its second argument, or the manifest if both have the same content, because the
// manifest is in memory anyway.
func made(item plan.Item, after *unstructured.Unstructured) *unstructured.Unstructured {
	if item.Object != nil && reflect.DeepEqual(after.Object, item.Object.Object) {
		return item.Object
	}
	return after
}

// withoutServerMetadata drops the metadata that the server writes, which is mostly managedFields.
func withoutServerMetadata(u *unstructured.Unstructured) *unstructured.Unstructured {
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

// Report reports each finding once. Without a reader it sends no requests.
func (f *Run) Report(ctx context.Context, p *plan.Plan, reader diagnose.Reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil || !f.changes {
		return
	}
	var objects []preflight.Object
	for item := range p.Items() {
		o, seen := f.seen[item.Key()]
		if !seen {
			o = preflight.Object{Ref: item.Ref, After: item.Object}
		}
		objects = append(objects, o)
	}
	for _, r := range preflight.Foresee(ctx, reader, preflight.Set{Objects: objects, Prunes: f.prunes}) {
		if !f.reported[r] {
			f.reported[r] = true
			f.emit(r)
		}
	}
}

// Losses returns a function that reports objects of the plan that need something the prune will delete.
func Losses(p *plan.Plan, emit func(event.Event)) func(applyset.Decision) {
	return func(d applyset.Decision) {
		var objects []*unstructured.Unstructured
		for item := range p.Items() {
			objects = append(objects, item.Object)
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

// Before returns a function that reports the findings before it waits; nil if wait is nil.
func (f *Run) Before(wait func(context.Context, []plan.Item) error, p *plan.Plan) func(context.Context, []plan.Item) error {
	if wait == nil {
		return nil
	}
	return func(ctx context.Context, applied []plan.Item) error {
		f.Report(ctx, p, nil)
		return wait(ctx, applied)
	}
}

// ReportKept reports images that may have been pushed again since the Pods pulled them.
func (f *Run) ReportKept(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if r, ok := preflight.ImagesMayBeOld(f.kept); ok {
		f.emit(r)
	}
}
