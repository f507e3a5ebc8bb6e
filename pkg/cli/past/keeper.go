package past

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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Server is what the history needs of a cluster.
type Server interface {
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	Apply(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, kind object.Kind, ref object.Ref, how object.Deletion) (*unstructured.Unstructured, error)
	// Metadata lists the selected objects, the metadata alone.
	Metadata(ctx context.Context, kind object.Kind, sel object.Selection, visit func(*unstructured.Unstructured)) error
	Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error))
}

// Usual is the default number of runs to keep.
const Usual = 10

// endTime bounds how long the end of a run is written down.
const endTime = 15 * time.Second

// Keeper keeps the history of one set.
type Keeper struct {
	Server Server
	Parent object.Ref
	// Who ran it, for people.
	Who string
	// Keep is how many runs are kept.
	Keep int
	Emit func(event.Event)

	// run is the recorded one; its ID is empty if none was recorded.
	run history.Run
}

// Begin records the run and what it is about to state. It does not record a run that
// states the same as the last one, if that ended well: it adds nothing to roll back to.
//
// A failure to write the history does not stop the run. The history is there for the next
// mistake, and a quota of Secrets or a missing right must not turn it into one. The run
// reports the failure and continues without a history.
//
// A nil Keeper keeps nothing.
func (k *Keeper) Begin(ctx context.Context, id string, p *plan.Plan) {
	if k == nil {
		return
	}
	if err := k.begin(ctx, id, p); err != nil {
		k.run = history.Run{}
		k.Emit(event.Warned{Ref: k.Parent, Text: fmt.Sprintf("there will be no way back to this run: its history cannot be kept: %v; --history=0 keeps none", err)})
	}
}

func (k *Keeper) begin(ctx context.Context, id string, p *plan.Plan) error {
	if k.Parent.Namespace == "" {
		return errors.New("its parent is in no namespace, and a history is kept in Secrets beside the parent")
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
	_, heads, err := k.heads(ctx)
	if err != nil {
		return err
	}
	if len(heads) > 0 && heads[0].Usable() && heads[0].Input == run.Input {
		return nil
	}
	k.run = run
	return k.write(ctx)
}

// End records how the run ended, and removes runs beyond the limit.
func (k *Keeper) End(ctx context.Context, result history.Result) {
	if k == nil || k.run.ID == "" {
		return
	}
	// The run may have been interrupted: its result is worth a moment.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	k.run.Result = result
	err := k.write(ctx)
	if err == nil {
		err = k.trim(ctx)
	}
	if err != nil {
		k.Emit(event.Warned{Text: fmt.Sprintf("the history of %s: %v", k.Parent, err)})
	}
}

// write writes the run as far as it is known.
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
		k.Emit(event.Warned{Text: "there will be no way back to this run: what it states is too large to be kept"})
	}
	for _, u := range secrets {
		if _, err := k.Server.Apply(ctx, kind, u, object.Write{Manager: applyset.Manager, Force: true}); err != nil {
			return err
		}
	}
	return nil
}

func tooLarge(u *unstructured.Unstructured) bool {
	heads := history.Heads([]*unstructured.Unstructured{u})
	return len(heads) == 1 && heads[0].TooLarge
}

// trim removes runs beyond the limit.
func (k *Keeper) trim(ctx context.Context) error {
	secrets, _, err := k.heads(ctx)
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

// Remove deletes the history, with that of runs which cannot be read any more, and returns
// how many runs there were.
func (k *Keeper) Remove(ctx context.Context) (runs int, err error) {
	secrets, heads, err := k.heads(ctx)
	if err != nil || len(secrets) == 0 {
		return 0, err
	}
	return len(heads), k.remove(ctx, secrets)
}

// heads lists the history, without the objects of its runs. A set whose parent is in no
// namespace has none.
func (k *Keeper) heads(ctx context.Context) ([]*unstructured.Unstructured, []history.Run, error) {
	if k.Parent.Namespace == "" {
		return nil, nil, nil
	}
	kind, err := k.kind(ctx)
	if err != nil {
		return nil, nil, err
	}
	found := map[string]*unstructured.Unstructured{}
	sel := object.Selection{Namespace: k.Parent.Namespace, Labels: history.Label + "=" + applyset.LeaseName(k.Parent)}
	if err := k.Server.Metadata(ctx, kind, sel, func(u *unstructured.Unstructured) { found[u.GetName()] = u }); err != nil {
		return nil, nil, err
	}
	var secrets []*unstructured.Unstructured
	for _, u := range found {
		secrets = append(secrets, u)
	}
	return secrets, history.Heads(secrets), nil
}

// Known returns the runs that are kept, the newest first, without what they stated.
func (k *Keeper) Known(ctx context.Context) ([]history.Run, error) {
	_, heads, err := k.heads(ctx)
	return heads, err
}

// Runs reads the history, the newest run first. The faults say what cannot be read.
func (k *Keeper) Runs(ctx context.Context) (runs []history.Run, faults []error, err error) {
	heads, _, err := k.heads(ctx)
	if err != nil {
		return nil, nil, err
	}
	kind, err := k.kind(ctx)
	if err != nil {
		return nil, nil, err
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
		return nil, nil, err
	}
	runs, faults = history.Decode(secrets)
	return runs, faults, nil
}

// kind is that of Secrets.
func (k *Keeper) kind(ctx context.Context) (object.Kind, error) {
	return k.Server.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
}
