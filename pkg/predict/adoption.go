package predict

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// heldUpError says that the apply is invalid as long as an adopted manager still owns its fields: a
// list item that is to go, for instance, still has the name or number that another one gets. A dry
// run cannot move ownership first.
type heldUpError struct {
	conflicts []managedfields.Conflict
	// alone is the manifest as a new object, completed by the server; nil if the server refused
	// that.
	alone *unstructured.Unstructured
}

func (e *heldUpError) Error() string { return "not valid before the adoption" }

// moved predicts an apply that is valid only once the adopted fields are ours. The server completes
// the manifest alone. That replaces what we own and will own of the live object, and a dry-run
// update lets the server check and complete the whole. moved returns false if the object has
// changed.
func (p Predictor) moved(ctx context.Context, server Server, in *Prediction, why *heldUpError) bool {
	var answer *unstructured.Unstructured
	if why.alone != nil {
		var err error
		answer, err = p.updated(ctx, server, in, why.alone)
		if apierrors.IsConflict(err) {
			return false
		}
		if err != nil {
			answer = nil
		}
	}
	in.Answer, in.Unchecked = answer, ""
	in.Conflicts, in.Taken, in.Overwritten = nil, nil, nil
	if answer == nil {
		in.Unchecked = "not checked by the server: it can be asked only when " + first(in.Adoption)
	}
	p.sort(in, why.conflicts)
	in.Adoption = in.Adoption.LeaveContested(why.conflicts)
	return true
}

// first says what has to happen before an apply.
func first(a adopt.Adoption) string {
	if len(a.Adopted) > 0 {
		return "what " + a.Adopted[0].Manager + " owns is adopted"
	}
	return a.Claimed[0].String() + ", which the server filled in, is gone"
}

func (p Predictor) updated(ctx context.Context, server Server, in *Prediction, alone *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	moved, err := adopt.Moved(in.Live, alone, p.Manager, in.Adoption)
	if err != nil {
		return nil, err
	}
	entries, err := in.Adoption.LetGo(moved)
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

// heldUp returns a *heldUpError if the server seems to refuse an apply only because the adopted
// fields are not ours yet; nil otherwise. It seems so if the manifest is valid as a new object. The
// server may refuse a second object of the kind for other reasons, such as a quota, or a port that
// the first one has; then it seems so if adopted managers hold what the refusal names.
func (p Predictor) heldUp(ctx context.Context, server Server, in *Prediction, refusal error, contested []managedfields.Conflict) error {
	alone, err := p.alone(ctx, server, in)
	if err == nil || p.waitsForAdopted(in, refusal) || waitsForLeftovers(in, refusal) || unexplained(refusal) && !unexplained(err) {
		return &heldUpError{conflicts: contested, alone: alone}
	}
	return nil
}

// waitsForAdopted reports whether adopted managers hold everything that is left in the lists that
// the refusal names, or near one of the fields.
func (p Predictor) waitsForAdopted(in *Prediction, refusal error) bool {
	areAdopted := func(owners []string) bool {
		return len(owners) > 0 && !slices.ContainsFunc(owners, func(name string) bool {
			return !slices.ContainsFunc(in.Adoption.Adopted, func(o managedfields.Owner) bool { return o.Manager == name })
		})
	}
	if _, owners := p.leftBehindBy(in, Causes(refusal)); areAdopted(owners) {
		return true
	}
	for _, owners := range p.leftNear(in, Causes(refusal)) {
		if areAdopted(owners) {
			return true
		}
	}
	return false
}

// waitsForLeftovers reports whether everything that the server refuses is in unions with leftovers.
func waitsForLeftovers(in *Prediction, refusal error) bool {
	causes := Causes(refusal)
	return len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return !slices.ContainsFunc(in.Adoption.Claimed, func(member fieldpath.Path) bool {
			// The server names list items by position, so only the list is certain.
			list, _, _ := strings.Cut(member[:len(member)-1].String(), "[")
			return strings.HasPrefix("."+cause.Field, list)
		})
	})
}

// afterAdoption predicts the fate of fields that an adopted manager holds and the manifest lacks. A
// dry run cannot move their ownership first, so they are removed from the answer, and the server is
// asked to fill in the defaults of the rest.
func (p Predictor) afterAdoption(ctx context.Context, server Server, in *Prediction) error {
	dropped, err := adopt.Dropped(in.Live, in.Answer, p.Manager, in.Adoption)
	if err != nil {
		return err
	}
	var gone []fieldpath.Path
	for _, c := range dropped {
		if c.Kind == managedfields.Removed {
			gone = append(gone, c.Path)
		}
	}
	emptied, err := adopt.Emptied(in.Live, in.Answer, p.Manager, in.Adoption)
	if err != nil {
		return err
	}
	answer := in.Answer
	if without := adopt.Without(answer, gone, emptied...); without != nil {
		answer, err = server.Update(ctx, in.Item.Kind, without, object.Write{
			Manager: p.Manager, Validation: p.Validation, DryRun: true,
		})
		if err != nil {
			return err
		}
	}
	entries, err := in.Adoption.LetGo(in.Answer)
	if err != nil {
		return err
	}
	in.Answer = answer
	return unstructured.SetNestedSlice(answer.Object, entries, "metadata", "managedFields")
}

// AdoptedFrom returns, without duplicates, the managers whose fields become ours, or became ours in
// an earlier run that stopped before it applied.
func (in *Prediction) AdoptedFrom() []string {
	names := slices.Clone(in.Adoption.Earlier)
	for _, owner := range in.Adoption.Adopted {
		names = append(names, owner.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OnlyOwners reports whether an adoption is all that an apply does: the content stays, except for
// the last-applied annotation of the adopted manager.
func (in *Prediction) OnlyOwners(changes []managedfields.Change) bool {
	return len(in.AdoptedFrom()) > 0 && !slices.ContainsFunc(changes, func(c managedfields.Change) bool {
		return c.Kind != managedfields.Removed || !managedfields.IsLastApplied(c.Path)
	})
}
