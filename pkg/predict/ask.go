package predict

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Ask asks the server, by a forced dry run, what the apply would make of the object, and
// fills in Answer, Conflicts and Taken. It returns the server's refusal as it is, and a
// *[race.LostError] if the object changed before each dry run.
func (p Predictor) Ask(ctx context.Context, server Server, in *Prediction) error {
	for attempts := retry.At(in.Item.Ref); ; {
		attempts.Saw(in.Live)
		answer, err := p.dryRun(ctx, server, in)
		heldUp, isHeldUp := errors.AsType[*heldUpError](err)
		switch {
		case isHeldUp:
			if p.moved(ctx, server, in, heldUp) {
				return nil
			} // Else the object changed meanwhile.
		case err != nil:
			return err
		case in.Live == nil || answer.GetResourceVersion() == in.Live.GetResourceVersion():
			err := p.accept(ctx, server, in, answer)
			if !errors.Is(err, errMoved) && (!in.Adopts() || !apierrors.IsConflict(err)) {
				return err
			} // Else the object changed before the second half of the prediction.
		}
		if err := attempts.Again(ctx); err != nil {
			return err
		}
		if err := p.Refresh(ctx, server, in); err != nil {
			return err
		}
	}
}

// Refresh reads the live object again and evaluates it anew.
func (p Predictor) Refresh(ctx context.Context, server Server, in *Prediction) error {
	live, err := server.Get(ctx, in.Item.Kind, in.Item.Ref)
	if apierrors.IsNotFound(err) {
		live, err = nil, nil
	}
	if err != nil {
		return err
	}
	*in, err = p.Evaluate(in.Item, live)
	return err
}

// dryRun sends the forced dry run. Force can make an object invalid that otherwise is
// merely contested; then the unforced answer is the useful one.
func (p Predictor) dryRun(ctx context.Context, server Server, in *Prediction) (*unstructured.Unstructured, error) {
	how := object.Write{Manager: p.Manager, Validation: p.Validation, DryRun: true, Force: in.Live != nil}
	answer, err := server.Apply(ctx, in.Item.Kind, in.asked(in.Body), how)
	if how.Force && (apierrors.IsInvalid(err) || in.Adopts() && unexplained(err)) {
		how.Force = false
		_, unforced := server.Apply(ctx, in.Item.Kind, in.asked(in.Body), how)
		conflicts := p.Contested(unforced, in.Live, in.Body)
		if open := p.open(in, conflicts); len(open) > 0 && !in.takesOver() {
			return nil, &ConflictError{Ref: in.Item.Ref, Conflicts: open, Refusal: err}
		}
		// A release does not change whether the object is valid.
		if in.Adoption.Release(nil).LeaveContested(conflicts).Transfers() {
			if heldUp := p.heldUp(ctx, server, in, err, conflicts); heldUp != nil {
				return nil, heldUp
			}
		}
	}
	return answer, err
}

// accept evaluates an answer that belongs to the live object we know.
func (p Predictor) accept(ctx context.Context, server Server, in *Prediction, answer *unstructured.Unstructured) error {
	in.Answer, in.Unchecked = answer, ""
	in.Conflicts, in.Taken, in.Overwritten = nil, nil, nil
	if in.Live == nil {
		return nil
	}
	contested, err := p.contested(ctx, server, in)
	if err != nil {
		return err
	}
	p.sort(in, contested)
	if in.Adopts() {
		if in.Adoption, err = in.Adoption.Leave(in.Answer); err != nil {
			return err
		}
		if err := p.afterAdoption(ctx, server, in); err != nil {
			return err
		}
	}
	return in.keepsYielded()
}
