package setrun

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Leaving lists the members to delete, in deletion order.
type Leaving struct {
	// Phases are in deletion order, Plan in apply order.
	Phases []deletion.Phase
	Plan   *plan.Plan
	Live   map[object.Key]*unstructured.Unstructured

	decision applyset.Decision
	mu       sync.Mutex
	stayed   []applyset.Kept
}

// Stayed returns the members that were to be deleted but were kept.
func (d *Leaving) Stayed() []applyset.Kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.stayed)
}

// stays returns the reason to keep a live member; empty if the member is deleted.
func (d *Leaving) stays(kind object.Kind, live *unstructured.Unstructured) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept, goes := d.decision.Again(applyset.MemberOf(kind, live), d.stayed)
	if goes {
		return ""
	}
	if kept.Reason != applyset.Gone {
		d.stayed = append(d.stayed, kept)
	}
	return kept.Text()
}

// Order orders members for deletion, in reverse apply order. A member is deleted only if its UID is
// unchanged, and if the decision for its current version is still to delete it. Members that no
// longer exist are skipped.
func Order(ctx context.Context, reader object.LiveReader, set *store.Set, decision applyset.Decision) (*Leaving, error) {
	members := decision.Doomed
	manifests, kinds, err := read(ctx, reader, members)
	if err != nil {
		return nil, err
	}
	live := map[object.Key]*unstructured.Unstructured{}
	for _, m := range manifests {
		live[object.RefOf(m.Object).Key()] = m.Object
	}
	p, err := plan.Build(manifests, plan.Options{Kinds: kinds})
	if err != nil {
		for i, m := range manifests {
			manifests[i].Object = m.Object.DeepCopy()
			manifests[i].Object.SetAnnotations(nil)
		}
		if p, err = plan.Build(manifests, plan.Options{Kinds: kinds}); err != nil {
			return nil, err
		}
	}
	known := map[object.Key]applyset.Member{}
	for _, m := range members {
		known[m.Ref.Key()] = m
	}
	departing := &Leaving{Phases: deletion.Reverse(p), Plan: p, Live: live, decision: decision}
	for _, ph := range departing.Phases {
		for i := range ph.Sets {
			ph.Sets[i].Selection.Labels = applyset.Selector(set.ID())
			for j := range ph.Sets[i].Items {
				item := &ph.Sets[i].Items[j]
				item.UID = known[item.Ref.Key()].UID
				item.Stays = func(live *unstructured.Unstructured) string { return departing.stays(ph.Sets[i].Kind, live) }
			}
		}
	}
	return departing, nil
}

func read(ctx context.Context, reader object.LiveReader, members []applyset.Member) ([]object.Manifest, map[schema.GroupVersionKind]object.Kind, error) {
	kinds := map[schema.GroupVersionKind]object.Kind{}
	refs := map[schema.GroupVersionKind][]object.Ref{}
	for _, m := range members {
		kinds[m.Ref.GVK] = m.Kind
		refs[m.Ref.GVK] = append(refs[m.Ref.GVK], m.Ref)
	}
	var (
		mu        sync.Mutex
		wait      sync.WaitGroup
		faults    []error
		manifests []object.Manifest
	)
	for gvk, kind := range kinds {
		wait.Go(func() {
			reader.Live(transport.Deleting(ctx), kind, refs[gvk], func(_ int, live *unstructured.Unstructured, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					faults = append(faults, err)
				} else if live != nil {
					manifests = append(manifests, object.Manifest{Object: live})
				}
			})
		})
	}
	wait.Wait()
	return manifests, kinds, errors.Join(faults...)
}

// Pruned returns a function that turns events of the deletion engine into apply results.
func Pruned(emit func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		switch e := e.(type) {
		case event.Planned, event.PhaseStarted:
		case event.Deleted:
			if a, reported := prunedOf(e); reported {
				emit(a)
			}
		default:
			emit(e)
		}
	}
}

// prunedOf returns false if the member was already gone.
func prunedOf(d event.Deleted) (event.Applied, bool) {
	a := event.Applied{Ref: d.Ref, Action: d.Action, DryRun: d.DryRun, Departed: true, Reason: d.Reason, Err: d.Err, Causes: d.Causes}
	if d.Action == event.Gone {
		a.Action = event.Pruned
	}
	return a, d.Action != event.Absent
}

// Leaving is for a diff: it reports the members that a prune would keep, and calls show with the
// doomed members.
func (r *Run) Leaving(ctx context.Context, show func(context.Context, []applyset.Member) error) error {
	for _, k := range r.shown.Kept {
		if k.Reason != applyset.Copied {
			r.Emit(event.Compared{Ref: k.Ref, Action: event.Kept, Departed: true, Reason: k.Text()})
		}
	}
	if len(r.shown.Doomed) == 0 {
		return nil
	}
	return show(ctx, r.shown.Doomed)
}

// Show reports members that would be deleted, and masks the values of Secrets.
func Show(ctx context.Context, reader object.LiveReader, doomed []applyset.Member, emit func(event.Event)) error {
	manifests, _, err := read(ctx, reader, doomed)
	if err != nil {
		return err
	}
	slices.SortFunc(manifests, func(a, b object.Manifest) int { return object.RefOf(a.Object).Compare(object.RefOf(b.Object)) })
	for _, m := range manifests {
		ref := object.RefOf(m.Object)
		before, _ := redact.Pair(ref, written(m.Object), nil)
		emit(event.Compared{Ref: ref, Action: event.Delete, Departed: true, UID: m.Object.GetUID(), Before: before})
	}
	return nil
}

// written returns an object with only the fields that users write.
func written(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	delete(u.Object, "status")
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u.Object
}
