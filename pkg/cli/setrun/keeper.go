package setrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Usual is the default number of runs to keep.
const Usual = 10

// endTime limits the time for recording the result of a run.
const endTime = 15 * time.Second

// Keeper keeps the history of one set.
type Keeper struct {
	Server store.Server
	Parent object.Ref
	Who    string
	// Keep is the number of runs to keep; zero keeps none.
	Keep int
	// RollbackTo is the run that this one goes back to; zero if it is no rollback.
	RollbackTo history.Name
	// Confirms is the digest of the plan that the run confirms; empty if there is none.
	Confirms string
	Emit     func(event.Event)
	// History is nil for a Keeper that only reads.
	History History

	// run has no ID if the run is not to be recorded. former is then the run that it repeats. kept
	// means that the run's Secrets were written. plan is the plan that the run confirms.
	run, former history.Run
	kept        bool
	plan        history.Plan
}

// History records the last run that applied something, even if the Secrets of that run were
// deleted.
type History interface {
	// Last returns the last run at the time when this run acquired the lock; its ID is empty if
	// there was none. sure means that no other run can have followed that last run.
	Last() (last history.Run, sure bool, err error)
	// Note records the current run with the lock's next request.
	Note(run history.Run)
	// NoteNow records the current run with a separate request.
	NoteNow(ctx context.Context, run history.Run) error
}

// Begin records the run and its manifests, unless the last run succeeded with the same manifests.
// It warns if the history cannot be written. The Lease still records the run in that case, so that
// a rollback knows the last run. A nil Keeper records nothing.
func (k *Keeper) Begin(ctx context.Context, id string, p *plan.Plan) {
	if k == nil {
		return
	}
	err := k.begin(ctx, id, p)
	if k.run.ID != "" && !k.kept {
		// If the run is killed now, no Secret records it, so the Lease must. If this request fails,
		// the lock's next request will record the run.
		_ = k.History.NoteNow(ctx, k.run)
	}
	if err != nil {
		k.Emit(event.Warned{Ref: k.Parent, Text: fmt.Sprintf("the set cannot be rolled back to this run, because its history cannot be kept: %v; to keep no history, use --history=0", err)})
	}
}

func (k *Keeper) begin(ctx context.Context, id string, p *plan.Plan) error {
	if k.Parent.Namespace == "" {
		if k.Keep == 0 {
			return nil
		}
		return errors.New("its parent has no namespace, and a history needs one for its Secrets")
	}
	run := history.Run{ID: id, Started: time.Now(), Who: k.Who, Result: history.Running, Place: history.Place{RollbackTo: k.RollbackTo}}
	var manifests []*unstructured.Unstructured
	for item := range p.Items() {
		manifests = append(manifests, item.Object)
		run.Objects = append(run.Objects, history.ObjectOf(k.Parent, item.Object))
	}
	var err error
	if run.Input, err = history.Digest(manifests); err != nil {
		return err
	}
	last, sure, unread := k.History.Last()
	k.plan = history.Plan{Digest: k.Confirms, Run: id, Started: run.Started.UTC()}
	k.run = k.confirming(history.Unlisted(last, run, sure && unread == nil))
	if k.Keep == 0 {
		return nil
	}
	kept, _, err := k.heads(ctx)
	if err != nil {
		return err
	}
	if kept.Last = last; unread != nil {
		kept.Faults = append(kept.Faults, unread)
	}
	var again bool
	if k.run, again = kept.Follow(run); again {
		k.run = history.Run{}
		if newest, ok := kept.Newest(); ok && newest.Place.Number > 0 {
			k.former = k.confirming(newest)
			k.History.Note(k.former) // It is still the last run, even if the Lease does not record it.
		}
		return nil
	}
	k.run = k.confirming(k.run)
	if err := k.write(ctx); err != nil {
		return err
	}
	k.kept = true
	k.History.Note(k.run)
	return nil
}

// confirming returns the run with the plan that this one confirms.
func (k *Keeper) confirming(run history.Run) history.Run {
	if k.plan.Digest == "" {
		return run
	}
	k.plan.Number = run.Place.Number
	run.Place = run.Place.With(k.plan)
	return run
}

// End records the result of the run, with the objects that it did not apply, and removes runs beyond
// the limit.
func (k *Keeper) End(ctx context.Context, result history.Result, failed []string) {
	if k == nil {
		return
	}
	k.plan.Applied = result == history.Applied
	switch {
	case k.run.ID == "" && k.former.ID != "" && k.plan.Digest != "":
		k.History.Note(k.confirming(k.former))
		return
	case k.run.ID == "":
		return
	}
	k.run.Result, k.run.Failed = result, failed
	k.run = k.confirming(k.run)
	k.History.Note(k.run)
	if !k.kept {
		return
	}
	// The result is recorded even if the run was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	err := k.write(ctx)
	if err == nil {
		err = k.trim(ctx)
	}
	if err != nil {
		k.Emit(event.Warned{Text: fmt.Sprintf("the history of %s: %v", k.Parent, err)})
	}
}

func (k *Keeper) write(ctx context.Context) error {
	secrets, err := history.Encode(k.Parent, applyset.LeaseName(k.Parent), k.run)
	if err != nil {
		return err
	}
	kind, err := k.kind(ctx)
	if err != nil {
		return err
	}
	heads, _ := history.Heads(secrets)
	if len(secrets) == 1 && k.run.Result == history.Applied && len(heads) == 1 && heads[0].TooLarge {
		k.Emit(event.Warned{Text: "the set cannot be rolled back to this run: the manifests exceed the history limit"})
	}
	for _, u := range secrets {
		if _, err := k.Server.Apply(ctx, kind, u, object.Write{Manager: applyset.Manager, Force: true}); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) trim(ctx context.Context) error {
	_, secrets, err := k.heads(ctx)
	if err != nil {
		return err
	}
	return k.remove(ctx, history.Excess(secrets, k.Keep))
}

func (k *Keeper) remove(ctx context.Context, secrets []*unstructured.Unstructured) error {
	kind, err := k.kind(ctx)
	if err != nil {
		return err
	}
	for _, u := range secrets {
		ref := object.Ref{GVK: kind.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}
		_, err := k.Server.Delete(ctx, kind, ref, object.Deletion{UID: u.GetUID()})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// Remove deletes the history, including runs that cannot be read.
func (k *Keeper) Remove(ctx context.Context) error {
	_, secrets, err := k.heads(ctx)
	if err != nil || len(secrets) == 0 {
		return err
	}
	return k.remove(ctx, secrets)
}

// heads returns the stored runs without their manifests, and their Secrets. It returns nothing if
// the parent has no namespace, because such a set has no history.
func (k *Keeper) heads(ctx context.Context) (kept history.Kept, secrets []*unstructured.Unstructured, err error) {
	if k.Parent.Namespace == "" {
		return kept, nil, nil
	}
	kind, err := k.kind(ctx)
	if err != nil {
		return kept, nil, err
	}
	found := map[string]*unstructured.Unstructured{}
	sel := object.Selection{Namespace: k.Parent.Namespace, Labels: history.Label + "=" + applyset.LeaseName(k.Parent)}
	if err := k.Server.Metadata(ctx, kind, sel, func(u *unstructured.Unstructured) { found[u.GetName()] = u }); err != nil {
		return kept, nil, err
	}
	for _, u := range found {
		secrets = append(secrets, u)
	}
	kept.Runs, kept.Faults = history.Heads(secrets)
	return kept, secrets, nil
}

// Known returns the stored runs, newest first, without their manifests.
func (k *Keeper) Known(ctx context.Context) (history.Kept, error) {
	kept, _, err := k.heads(ctx)
	return kept, err
}

// Runs returns the stored runs with their manifests. The Lease also records the last run: see
// [Lock.Last].
func (k *Keeper) Runs(ctx context.Context) (kept history.Kept, err error) {
	_, heads, err := k.heads(ctx)
	if err != nil {
		return kept, err
	}
	kind, err := k.kind(ctx)
	if err != nil {
		return kept, err
	}
	refs := make([]object.Ref, len(heads))
	for i, u := range heads {
		refs[i] = object.Ref{GVK: kind.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}
	}
	var secrets []*unstructured.Unstructured
	k.Server.Live(ctx, kind, refs, func(_ int, live *unstructured.Unstructured, failed error) {
		switch {
		case failed != nil:
			err = failed
		case live != nil:
			secrets = append(secrets, live)
		}
	})
	if err != nil {
		return kept, err
	}
	kept.Runs, kept.Faults = history.Decode(secrets)
	return kept, nil
}

func (k *Keeper) kind(ctx context.Context) (object.Kind, error) {
	return k.Server.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
}

// Promised returns a function that returns the kinds and namespaces of all runs in the history.
func Promised(server store.Server) func(ctx context.Context, parent object.Ref) (applyset.Promise, error) {
	return func(ctx context.Context, parent object.Ref) (applyset.Promise, error) {
		if parent.Namespace == "" {
			return applyset.Promise{}, nil // Such a set has no history.
		}
		k := &Keeper{Server: server, Parent: parent, Emit: func(event.Event) {}}
		kept, err := k.Runs(ctx)
		if err != nil {
			return applyset.Promise{}, err
		}
		var refs []object.Ref
		for _, run := range kept.Runs {
			for _, o := range run.Objects {
				refs = append(refs, object.RefOf(o.Manifest))
			}
		}
		return applyset.PromiseOf(refs), nil
	}
}

// Manifests returns the manifests of a run. The history omits the values of some Secrets: such a
// Secret keeps the manager's live values, or is skipped if it no longer exists. Either case causes
// a warning.
func (k *Keeper) Manifests(ctx context.Context, run history.Run, manager string) ([]*unstructured.Unstructured, error) {
	var manifests []*unstructured.Unstructured
	for _, o := range run.Objects {
		u := o.Manifest
		if o.Withheld {
			var err error
			if u, err = k.fill(ctx, u, manager); err != nil {
				return nil, err
			}
		}
		if u != nil {
			manifests = append(manifests, u)
		}
	}
	return manifests, nil
}

// fill returns a Secret with the manager's live values; nil if there is no live Secret.
func (k *Keeper) fill(ctx context.Context, u *unstructured.Unstructured, manager string) (filled *unstructured.Unstructured, err error) {
	kind, err := k.kind(ctx)
	if err != nil {
		return nil, err
	}
	ref := object.RefOf(u)
	k.Server.Live(ctx, kind, []object.Ref{ref}, func(_ int, live *unstructured.Unstructured, failed error) {
		if failed != nil || live == nil {
			err = failed
			return
		}
		entries, failed := managedfields.Entries(live)
		if failed != nil {
			err = failed
			return
		}
		filled = u.DeepCopy()
		if data, has := managedfields.Project(live.Object, managedfields.Managed(entries, manager))["data"]; has {
			filled.Object["data"] = data
		}
	})
	switch {
	case err != nil:
		return nil, err
	case filled == nil:
		k.Emit(event.Warned{Ref: ref, Text: "no longer exists and will not be recreated: the history does not record the values of a Secret in another namespace"})
	default:
		k.Emit(event.Warned{Ref: ref, Text: "keeps its current values: the history does not record the values of a Secret in another namespace"})
	}
	return filled, nil
}
