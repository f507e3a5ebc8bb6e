// Package restore rolls back the writes of a run. It restores values and owners, deletes created
// objects, and preserves later changes by others. [Decide] compares three versions of an object.
// [Engine] carries out the decisions, in the reverse order of the run.
package restore

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Note is a run's record of one object that it wrote.
type Note struct {
	Ref  object.Ref
	Kind object.Kind
	// Before is the object before the run's first write; nil if it did not exist.
	Before *unstructured.Unstructured
	// After is the object after the run's last write; nil if the result is unknown.
	After *unstructured.Unstructured
	// Removed means that the run deleted the object, or may have deleted it. Pruned means that the
	// run did so because the object had left the set. If only Removed is set, the run was going to
	// recreate the object.
	Removed, Pruned bool

	// valued means that the rollback has already restored the values, and that After contains them.
	valued bool
}

// Do is the action for an object.
type Do string

const (
	// Nothing means that the object is already as it was before the run.
	Nothing Do = "nothing"
	// Keep leaves the object as it is, for the reason in Why.
	Keep Do = "keep"
	// Delete deletes the object with the UID, because the run created it.
	Delete Do = "delete"
	// Apply applies the Body to the existing object.
	Apply Do = "apply"
	// Create creates the object from the Body. If UID is set, the object with that UID is deleted
	// first.
	Create Do = "create"
)

// Step is the rollback of one object.
type Step struct {
	Do  Do
	Why string
	UID types.UID
	// Body is the manifest to apply without force. For Apply, it contains the resource version that
	// was read.
	Body *unstructured.Unstructured
	// Left lists the paths that others have changed since the run, or that others own with a
	// different value. It is sorted.
	Left []fieldpath.Path

	back owners
}

const (
	goneSince     = "others have deleted it since"
	replacedSince = "others have replaced it since: another object has its name now"
	unknownMaker  = "it is unknown whether this run created it"
	onItsWay      = "it is being deleted"
	notRunAgain   = "it was recreated, and restoring a Job or Pod would run it again"
	notMadeAgain  = "it was deleted, and restoring a Job or Pod would run it again"
)

// Decide decides how to roll back the run's writes to an object; live is nil if it does not exist.
func Decide(n Note, live *unstructured.Unstructured, manager string) (Step, error) {
	switch {
	case n.Before == nil && live == nil:
		return Step{Do: Nothing}, nil
	case n.Before == nil && n.After == nil:
		return Step{Do: Keep, Why: unknownMaker}, nil
	case n.Before == nil && live.GetUID() != n.After.GetUID():
		return Step{Do: Keep, Why: replacedSince}, nil
	case n.Before == nil:
		return n.unlessWritten(live, manager, Step{Do: Delete, UID: live.GetUID()})
	case live != nil && live.GetUID() == n.Before.GetUID() && live.GetDeletionTimestamp() != nil:
		return Step{Do: Keep, Why: onItsWay}, nil
	case n.Removed:
		return n.recreate(live, manager)
	case live == nil:
		return Step{Do: Keep, Why: goneSince}, nil
	case live.GetUID() != n.Before.GetUID():
		return Step{Do: Keep, Why: replacedSince}, nil
	case live.GetResourceVersion() == n.Before.GetResourceVersion():
		return Step{Do: Nothing}, nil
	}
	return n.putBack(live, manager)
}

// recreate restores an object that the run deleted or recreated. A Job or Pod is not restored, because that
// would run it again.
func (n Note) recreate(live *unstructured.Unstructured, manager string) (Step, error) {
	runs := n.Ref.GVK.Kind == "Job" && n.Ref.GVK.Group == "batch" || n.Ref.GVK.Kind == "Pod" && n.Ref.GVK.Group == ""
	step := Step{Do: Create}
	switch {
	case live != nil && live.GetUID() == n.Before.GetUID() && live.GetResourceVersion() == n.Before.GetResourceVersion():
		return Step{Do: Nothing}, nil
	case live != nil && live.GetUID() == n.Before.GetUID():
		return n.putBack(live, manager)
	case live == nil && runs:
		return Step{Do: Keep, Why: notMadeAgain}, nil
	case live == nil:
	case n.After == nil || live.GetUID() != n.After.GetUID():
		return Step{Do: Keep, Why: replacedSince}, nil
	case runs:
		return Step{Do: Keep, Why: notRunAgain}, nil
	default:
		step.UID = live.GetUID()
	}
	if live != nil {
		if kept, err := n.unlessWritten(live, manager, step); err != nil || kept.Do == Keep {
			return kept, err
		}
	}
	entries, err := managedfields.Entries(n.Before)
	if err != nil {
		return Step{}, err
	}
	step.Body = n.body(n.declared(entries, manager))
	return step, nil
}

// declared returns the manager's fields. If these are only metadata, the run may have deleted a
// member of its set that the manager never applied; declared then adds the fields that others
// applied.
func (n Note) declared(entries []managedfields.Entry, manager string) *fieldpath.Set {
	set := managedfields.Managed(entries, manager)
	for field := range managedfields.Project(n.Before.Object, set) {
		switch field {
		case "apiVersion", "kind", "metadata":
		default:
			return set
		}
	}
	for _, e := range managedfields.Others(entries, manager) {
		if e.Subresource == "" && (e.Operation == managedfields.Apply || e.Manager == managedfields.ClientSideApply) {
			set = set.Union(e.Fields)
		}
	}
	return set
}

func (n Note) body(set *fieldpath.Set) *unstructured.Unstructured {
	projection, _ := fieldpath.Clone(managedfields.Project(n.Before.Object, set)).(map[string]any)
	body := &unstructured.Unstructured{Object: projection}
	body.SetGroupVersionKind(n.Before.GroupVersionKind())
	body.SetNamespace(n.Before.GetNamespace())
	body.SetName(n.Before.GetName())
	return body
}

func (n Note) putBack(live *unstructured.Unstructured, manager string) (Step, error) {
	w, err := n.compare(live, manager)
	if err != nil {
		return Step{}, err
	}
	values := w.held(w.before.ours.Union(w.changed()), w.unstatable)
	step := Step{Do: Apply, Body: n.body(values), Left: w.leftPaths()}
	for _, p := range w.around(values) {
		stateEmpty(step.Body.Object, p, w.live.object)
	}
	step.Body.SetResourceVersion(live.GetResourceVersion())
	step.back = owners{manager: manager, ours: w.held(w.before.ours, w.theirs), entry: w.before.entry, none: w.before.unmanaged}
	for _, e := range w.lost {
		if e.Fields = w.held(e.Fields, w.theirs); !e.Fields.Empty() {
			step.back.others = append(step.back.others, e)
		}
	}
	return step, nil
}

func (w *world) leftPaths() []fieldpath.Path {
	all := w.before.ours.Union(w.after.ours)
	for _, e := range w.lost {
		all = all.Union(e.Fields)
	}
	var left []fieldpath.Path
	fieldpath.Each(all, func(p fieldpath.Path) {
		if p.Same(w.before.object, w.live.object) || !w.unstatable(p, !hasBelow(all, p)) {
			return
		}
		if !slices.ContainsFunc(left, p.HasPrefix) {
			left = append(left, p.Clone())
		}
	})
	slices.SortFunc(left, fieldpath.Path.Compare)
	return left
}

const (
	notLookedAt = "it was not read again: it is as this run left it, unless others have changed it since"
	unknownNow  = "its current state is unknown"
	notThere    = "it does not exist now"
	another     = "another object has its name now"
	asItWas     = "it is as it was before this run"
	asMade      = "it is still as this run left it"
	changed     = "it is as this run left it, with later changes by others"
	perhaps     = "it is unknown whether this run changed it"
	halfBack    = "its values are as they were before this run, except those that others have changed since; not all fields were returned to their previous owners"
)

// found describes the object as the rollback has found it, for a rollback that failed. Only UIDs and versions
// prove which of its states this is.
func (n Note) found(live *unstructured.Unstructured) string {
	is := func(u *unstructured.Unstructured) bool { return u != nil && u.GetUID() == live.GetUID() }
	unchanged := func(u *unstructured.Unstructured) bool {
		return is(u) && u.GetResourceVersion() == live.GetResourceVersion()
	}
	switch {
	case live == nil:
		return notThere
	case live.GetDeletionTimestamp() != nil && (is(n.Before) || is(n.After)):
		return onItsWay
	case unchanged(n.Before):
		return asItWas
	case n.valued && is(n.After):
		return halfBack
	case unchanged(n.After):
		return asMade
	case is(n.After):
		return changed
	case is(n.Before), n.Before == nil && n.After == nil:
		return perhaps
	default:
		return another
	}
}
