package await

import (
	"context"
	"slices"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Workloads collects workloads, Services and Ingresses, and reports which images are running and
// which objects have no backend.
type Workloads struct {
	emit func(event.Event)

	mu              sync.Mutex
	refs, entrances []object.Ref
}

// CollectWorkloads returns a collector that passes events on to emit.
func CollectWorkloads(emit func(event.Event)) *Workloads { return &Workloads{emit: emit} }

// Handle handles an event and passes it on.
func (r *Workloads) Handle(e event.Event) {
	var ref object.Ref
	r.mu.Lock()
	switch e := e.(type) {
	case event.Waited:
		if e.Action == event.Met {
			ref = e.Ref
		}
		if unready.IsEntrance(ref) {
			r.entrances = append(r.entrances, ref)
		}
	case event.Owned:
		if len(e.Deletions) == 0 {
			ref = e.Ref
		}
	}
	if unready.HasPods(ref) {
		r.refs = append(r.refs, ref)
	}
	r.mu.Unlock()
	r.emit(e)
}

// Report ignores errors.
func (r *Workloads) Report(ctx context.Context, reader diagnose.Reader) {
	r.mu.Lock()
	refs, entrances := slices.Clone(r.refs), slices.Clone(r.entrances)
	r.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	slices.SortFunc(entrances, object.Ref.Compare)
	for _, remark := range unready.Unanswered(ctx, reader, entrances) {
		r.emit(remark)
	}
	slices.SortFunc(refs, object.Ref.Compare)
	for _, runs := range unready.Running(ctx, reader, refs) {
		r.emit(runs)
		if remark, differ := unready.DifferingImages(runs); differ {
			r.emit(remark)
		}
	}
}

// ReportDiffering reports ready workloads whose Pods run different images under the same name. It
// ignores images that it cannot read.
func ReportDiffering(ctx context.Context, reader diagnose.Reader, p *plan.Plan, emit func(event.Event)) {
	var refs []object.Ref
	for item := range p.Items() {
		if unready.HasPods(item.Ref) {
			refs = append(refs, item.Ref)
		}
	}
	if ctx.Err() != nil || len(refs) == 0 {
		return
	}
	for _, runs := range unready.Running(ctx, reader, refs) {
		if remark, differ := unready.DifferingImages(runs); differ {
			emit(remark)
		}
	}
}
