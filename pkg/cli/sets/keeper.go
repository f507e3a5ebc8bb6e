package sets

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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Usual is the default number of runs to keep.
const Usual = 10

// endTime bounds the requests that record the end of a run.
const endTime = 15 * time.Second

// Keeper keeps the history of one set.
type Keeper struct {
	Server Server
	Parent object.Ref
	// The user who runs it, for people.
	Who string
	// Keep is how many runs are kept; zero keeps none.
	Keep int
	Emit func(event.Event)
	// History is where the last run is noted; nil for a Keeper that only reads.
	History History

	// run is the one being recorded; its ID is empty if it applies the same as the last one. kept:
	// the history has it.
	run  history.Run
	kept bool
}

// History knows the last run that applied something, even if its Secrets are gone.
type History interface {
	// Last returns that run as noted when this one got the lock; without an ID if there is none.
	// sure: no other run had the lock since.
	Last() (last history.Run, sure bool, err error)
	// Note records this run in its place, with the next request of the lock.
	Note(run history.Run)
	// NoteNow records it at once.
	NoteNow(ctx context.Context, run history.Run) error
}

// Begin records the run and its manifests. It does not record a run that applies the same as the
// last one, if that ended well: it adds nothing to roll back to.
//
// A failure to write the history does not stop the run: the history is for the next mistake, and a
// quota or a missing right must not cause one. The failure is reported. The Lease still notes the
// run, so that no rollback takes another run for the last.
//
// A nil Keeper records nothing.
func (k *Keeper) Begin(ctx context.Context, id string, p *plan.Plan) {
	if k == nil {
		return
	}
	err := k.begin(ctx, id, p)
	if k.run.ID != "" && !k.kept {
		// No Secret records the run if it is killed now. If this request fails, the next one of the
		// lock carries the note.
		_ = k.History.NoteNow(ctx, k.run)
	}
	if err != nil {
		k.Emit(event.Warned{Ref: k.Parent, Text: fmt.Sprintf("this run cannot be rolled back to: its history cannot be kept: %v; --history=0 keeps none", err)})
	}
}

func (k *Keeper) begin(ctx context.Context, id string, p *plan.Plan) error {
	if k.Parent.Namespace == "" {
		if k.Keep == 0 {
			return nil
		}
		return errors.New("its parent has no namespace, and a history needs one for its Secrets")
	}
	run := history.Run{ID: id, Started: time.Now(), Who: k.Who, Result: history.Running}
	var manifests []*unstructured.Unstructured
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			manifests = append(manifests, item.Object)
			run.Objects = append(run.Objects, history.ObjectOf(k.Parent, item.Object))
		}
	}
	var err error
	if run.Input, err = history.Digest(manifests); err != nil {
		return err
	}
	last, sure, unread := k.History.Last()
	k.run = history.Unlisted(last, run, sure && unread == nil)
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
			k.History.Note(newest) // It is still the last one, even if the Lease does not say so.
		}
		return nil
	}
	if err := k.write(ctx); err != nil {
		return err
	}
	k.kept = true
	k.History.Note(k.run)
	return nil
}

// End records how the run ended, and removes runs beyond the limit.
func (k *Keeper) End(ctx context.Context, result history.Result) {
	if k == nil || k.run.ID == "" {
		return
	}
	k.run.Result = result
	k.History.Note(k.run)
	if !k.kept {
		return
	}
	// Record the result even if the run was interrupted.
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

// write writes the run's Secrets.
func (k *Keeper) write(ctx context.Context) error {
	secrets, err := history.Encode(k.Parent, applyset.LeaseName(k.Parent), k.run)
	if err != nil {
		return err
	}
	kind, err := k.kind(ctx)
	if err != nil {
		return err
	}
	if len(secrets) == 1 && k.run.Result == history.Applied && tooLarge(secrets[0]) {
		k.Emit(event.Warned{Text: "this run cannot be rolled back to: its manifests exceed the history limit"})
	}
	for _, u := range secrets {
		if _, err := k.Server.Apply(ctx, kind, u, object.Write{Manager: applyset.Manager, Force: true}); err != nil {
			return err
		}
	}
	return nil
}

func tooLarge(u *unstructured.Unstructured) bool {
	heads, _ := history.Heads([]*unstructured.Unstructured{u})
	return len(heads) == 1 && heads[0].TooLarge
}

// trim removes runs beyond the limit.
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

// Remove deletes the history, including unreadable runs, and returns how many runs it had.
func (k *Keeper) Remove(ctx context.Context) (runs int, err error) {
	kept, secrets, err := k.heads(ctx)
	if err != nil || len(secrets) == 0 {
		return 0, err
	}
	return len(kept.Runs), k.remove(ctx, secrets)
}

// heads lists the history without the objects. A set whose parent has no namespace has none.
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

// Known returns the kept runs, the newest first, without their manifests.
func (k *Keeper) Known(ctx context.Context) (history.Kept, error) {
	kept, _, err := k.heads(ctx)
	return kept, err
}

// Runs reads the history. The last run is noted elsewhere: see [Lock.Last].
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

// kind returns the kind of Secrets.
func (k *Keeper) kind(ctx context.Context) (object.Kind, error) {
	return k.Server.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
}

// Promised returns a function that says where the members of a set have been: in the kinds and
// namespaces of the runs in its history.
func Promised(server Server) func(ctx context.Context, parent object.Ref) (applyset.Promise, error) {
	return func(ctx context.Context, parent object.Ref) (applyset.Promise, error) {
		if parent.Namespace == "" {
			return applyset.Promise{}, nil // Such a set has none.
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

// Manifests returns the manifests of a run, to be applied again. A Secret whose values were
// withheld keeps the values that the manager has in it now; if it no longer exists, it is left out.
// Both are reported.
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

// fill copies the live values into a Secret; nil if it does not exist.
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
		k.Emit(event.Warned{Ref: ref, Text: "is gone, and is not created again: the history keeps no values of a Secret in another namespace"})
	default:
		k.Emit(event.Warned{Ref: ref, Text: "keeps its present values: the history keeps none of a Secret in another namespace"})
	}
	return filled, nil
}
