package releases

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// failed adds what only failed revisions contain: objects, and fields of other objects. Helm compares the
// next manifest with that of the last revision that succeeded, so it never deletes them (performUpgrade in
// helm/helm, pkg/action/upgrade.go). A revision that cannot be read is left out: it matters for no upgrade.
func (r *reader) failed(ctx context.Context, of *release, revisions []*unstructured.Unstructured) {
	of.failed, of.attempts = map[object.Key]int{}, map[object.Key][]attempt{}
	listed := map[object.Key]bool{}
	for _, p := range of.pieces {
		listed[p.Ref.Key()] = true
	}
	for _, stored := range revisions {
		revision, err := inventory.Decode(stored)
		if err != nil {
			continue
		}
		objects, _ := r.objects(ctx, revision)
		for _, o := range objects {
			key := o.Ref.Key()
			if of.base[key] != nil {
				of.attempts[key] = append(of.attempts[key], attempt{revision.Version, predict.WithoutStringData(o.Declared)})
			}
			if o.Ref.Name == "" || of.base[key] != nil {
				continue
			}
			if of.failed[key] == 0 && !listed[key] {
				of.orphans = append(of.orphans, &piece{Object: o})
			}
			of.failed[key] = max(of.failed[key], revision.Version)
		}
	}
}

// judgeFailed reports the live objects of failed revisions. An object without the marks of the release is not
// from Helm.
func (r *release) judgeFailed() {
	add := func(p *piece, listed bool) {
		if revision := r.failed[p.Ref.Key()]; revision > 0 && p.live != nil && r.marked(p.live) {
			r.out.Orphans = append(r.out.Orphans, event.Orphan{Ref: p.Ref, Revision: revision, Listed: listed})
		}
	}
	for _, p := range r.pieces {
		add(p, true)
	}
	for _, p := range r.orphans {
		add(p, false)
	}
	slices.SortStableFunc(r.out.Orphans, func(a, b event.Orphan) int { return a.Ref.Compare(b.Ref) })
}
