package predict

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// heldUpError says that the apply is not valid as long as an adopted manager
// still owns its fields: an item of a list that goes keeps the name or number
// that another one gets. A dry run can not move ownership first.
type heldUpError struct {
	conflicts []managedfields.Conflict
	// alone is what the server makes of the manifest as a new object.
	alone *unstructured.Unstructured
}

func (e *heldUpError) Error() string { return "not valid before the adoption" }

// moved predicts an apply that is valid only once the adopted fields are ours. The
// server tells what it makes of the manifest alone; with that in the place of what
// we own, and of what we shall own, a dry-run update lets it check and complete the
// whole. It returns false if the object changed meanwhile.
func (p Predictor) moved(ctx context.Context, server Server, in *Prediction, why *heldUpError) bool {
	answer, err := p.updated(ctx, server, in, why.alone)
	if apierrors.IsConflict(err) {
		return false
	}
	in.Answer, in.Unchecked, in.Conflicts, in.Taken = answer, "", nil, nil
	if err != nil {
		in.Answer = nil
		in.Unchecked = "not checked by the server: it can be asked only when what " +
			in.Adoption.Adopted[0].Manager + " owns is adopted"
	}
	p.sort(in, why.conflicts)
	return true
}

func (p Predictor) updated(ctx context.Context, server Server, in *Prediction, alone *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	moved, err := managedfields.Moved(in.Live, alone, p.Manager, p.AdoptFrom...)
	if err != nil {
		return nil, err
	}
	entries, err := p.letGo(moved)
	if err != nil {
		return nil, err
	}
	moved.SetManagedFields(nil) // The server keeps those of the live object.
	answer, err := server.Update(ctx, in.Item.Kind, moved, object.Write{
		Manager: p.Manager, Validation: p.Validation, DryRun: true,
	})
	if err != nil {
		return nil, err
	}
	return answer, unstructured.SetNestedSlice(answer.Object, entries, "metadata", "managedFields")
}

// ValidAlone tells whether the manifest is valid as a new object: what the
// server refuses then is not the manifest but the change.
func (p Predictor) ValidAlone(ctx context.Context, server Server, in *Prediction) bool {
	_, err := p.alone(ctx, server, in)
	return err == nil
}

// alone asks what the server would make of the manifest if there were no such
// object yet, by a dry run under another name.
func (p Predictor) alone(ctx context.Context, server Server, in *Prediction) (*unstructured.Unstructured, error) {
	twin := in.Body.DeepCopy()
	twin.SetName(twin.GetName() + "-k8sconnect-probe")
	return server.Apply(ctx, in.Item.Kind, twin, object.Write{
		Manager: p.Manager, Validation: p.Validation, DryRun: true,
	})
}

// afterAdoption predicts what becomes of the fields that an adopted manager
// holds and the manifest does not state. A dry run can not move their ownership
// first, so they are taken out of the answer, and the server is asked to
// complete what is left with its defaults.
func (p Predictor) afterAdoption(ctx context.Context, server Server, in *Prediction) error {
	dropped, err := managedfields.Dropped(in.Live, in.Answer, p.Manager, p.AdoptFrom...)
	if err != nil {
		return err
	}
	var gone []managedfields.Path
	for _, c := range dropped {
		if c.Kind == managedfields.Removed {
			gone = append(gone, c.Path)
		}
	}
	emptied, err := managedfields.Emptied(in.Live, in.Answer, p.Manager, p.AdoptFrom...)
	if err != nil {
		return err
	}
	answer := in.Answer
	if without := managedfields.Without(answer, gone, emptied...); without != nil {
		answer, err = server.Update(ctx, in.Item.Kind, without, object.Write{
			Manager: p.Manager, Validation: p.Validation, DryRun: true,
		})
		if err != nil {
			return err
		}
	}
	entries, err := p.letGo(in.Answer)
	if err != nil {
		return err
	}
	in.Answer = answer
	return unstructured.SetNestedSlice(answer.Object, entries, "metadata", "managedFields")
}

// letGo returns the managed fields of the answer to a dry run without what the
// adopted managers still hold there.
func (p Predictor) letGo(answer *unstructured.Unstructured) ([]any, error) {
	entries, _, err := unstructured.NestedSlice(answer.Object, "metadata", "managedFields")
	if err != nil {
		return nil, err
	}
	adoption, err := managedfields.Adopt(answer, p.Manager, p.AdoptFrom)
	if err != nil || adoption.Fields == nil {
		return entries, err
	}
	// Our entry gained what the others lose; what we hold is what the manifest
	// states.
	ours := slices.IndexFunc(entries, p.isOurs)
	rest := slices.DeleteFunc(adoption.Fields, p.isOurs)
	if ours < 0 {
		return rest, nil
	}
	return append(rest, entries[ours]), nil
}

// isOurs tells whether an entry of managed fields is the manager's own.
func (p Predictor) isOurs(entry any) bool {
	m, _ := entry.(map[string]any)
	return m["manager"] == p.Manager && m["operation"] == managedfields.Apply && m["subresource"] == nil
}
