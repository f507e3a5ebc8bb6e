package cli

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// foresight gathers what a run changes, and reports what of it will not work.
type foresight struct {
	emit func(event.Event)

	mu      sync.Mutex
	changed map[object.Key]preflight.Object
	told    map[event.Remarked]bool
	// kept are objects that did not change and may lack an image that was pushed; others
	// changed, whatever they are.
	kept   []preflight.Kept
	others bool
}

func newForesight(emit func(event.Event)) *foresight {
	return &foresight{emit: emit, changed: map[object.Key]preflight.Object{}, told: map[event.Remarked]bool{}}
}

// seeing shows each object that an engine evaluated to all who want to know.
func seeing(all ...func(plan.Item, *unstructured.Unstructured, *unstructured.Unstructured, bool)) func(plan.Item, *unstructured.Unstructured, *unstructured.Unstructured, bool) {
	return func(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
		for _, see := range all {
			see(item, before, after, changes)
		}
	}
}

// see takes in what an engine made of one object.
func (f *foresight) see(item plan.Item, before, after *unstructured.Unstructured, changes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.others = f.others || changes
	if !changes {
		if kept, ok := preflight.KeptImage(after); ok {
			f.kept = append(f.kept, kept)
		}
	}
	if changes && preflight.Needs(item.Ref) {
		f.changed[item.Key()] = preflight.Object{Ref: item.Ref, Changes: true, Before: before, After: after}
	}
}

// tell reports on the objects seen so far, each remark once. Without a reader, it asks
// the cluster nothing.
func (f *foresight) tell(ctx context.Context, p *plan.Plan, reader diagnose.Reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil || len(f.changed) == 0 {
		return
	}
	var objects []preflight.Object
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			o, changed := f.changed[item.Key()]
			if !changed {
				o = preflight.Object{Ref: item.Ref, After: item.Object}
			}
			objects = append(objects, o)
		}
	}
	for _, r := range preflight.Foresee(ctx, reader, objects) {
		if !f.told[r] {
			f.told[r] = true
			f.emit(r)
		}
	}
}

// before reports what is known before the run waits for what it has applied.
func (f *foresight) before(wait func(context.Context, []plan.Item) error, p *plan.Plan) func(context.Context, []plan.Item) error {
	if wait == nil {
		return nil
	}
	return func(ctx context.Context, applied []plan.Item) error {
		f.tell(ctx, p, nil)
		return wait(ctx, applied)
	}
}

// tellKept reports, once for a run, images that may have changed since the Pods got them.
func (f *foresight) tellKept(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if r, ok := preflight.ImagesMayBeOld(f.kept, !f.others); ok {
		f.emit(r)
	}
}
