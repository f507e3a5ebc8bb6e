package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/settle"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
)

// Server is what a prediction may need of a cluster.
type Server interface {
	Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error)
	Apply(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
	Update(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
}

// Predictor predicts for one field manager and one set of choices.
type Predictor struct {
	// Manager is who we are.
	Manager string
	// Take and Yield are the user's choices.
	Take, Yield []Choice
	// AdoptFrom says whose fields become ours, so that what is not in the manifest
	// leaves the object.
	AdoptFrom adopt.From
	// Validation is the server's field validation: Strict, Warn or Ignore.
	Validation string
	// Locate finds a field in the file that a manifest was read from; nil if nothing can.
	Locate Locator
	// Schema returns the schema by which the server reads a kind, nil where it is not
	// known. It is asked where the live object alone leaves a doubt that a schema may
	// settle. Nil where there is nobody to ask.
	Schema func(kind object.Kind) *spec.Schema
}

// Prediction is what is known of applying one manifest.
type Prediction struct {
	Item plan.Item
	// Live is the object as it is; nil where there is none.
	Live *unstructured.Unstructured
	// Body is the manifest as it is to be sent: without what is yielded, and in the
	// live spelling where others own the same value in another one.
	Body *unstructured.Unstructured
	// Stated is the manifest without what is yielded, as it is spelt there.
	Stated *unstructured.Unstructured
	// Verdict is what the live object alone tells.
	Verdict settle.Verdict
	// Adoption is what has to happen to the managed fields first; mostly nothing.
	Adoption adopt.Adoption
	// Yielded are the paths that the user leaves to their owners; Left are values that
	// something in the cluster is meant to set, and keeps.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict

	// Answer is the server's to a dry run; nil until Ask, and with Unchecked.
	Answer *unstructured.Unstructured
	// Unchecked is set when the server cannot be asked what the apply makes of
	// the object, and says why.
	Unchecked string
	// Conflicts are contested and nobody said what to do; Taken are contested and
	// the user takes them; Overwritten are values that adopted managers set and the
	// manifest changes. Empty until Ask.
	Conflicts, Taken, Overwritten []managedfields.Conflict

	// halfAdopted: an earlier run took over from client-side apply and did not get to
	// apply.
	halfAdopted bool
	// interrupted: the same of managers that somebody named, of which nobody knows any
	// more who they were.
	interrupted bool
}

// Evaluate says what the live object alone tells of applying the item. A nil live
// object means that there is none.
func (p Predictor) Evaluate(item plan.Item, live *unstructured.Unstructured) (Prediction, error) {
	out := Prediction{Item: item, Live: live}
	paths, err := p.yields(item)
	if err != nil {
		return out, err
	}
	if live != nil {
		if out.Adoption, err = adopt.Plan(live, p.Manager, p.AdoptFrom); err != nil {
			return out, err
		}
		if out.Left, err = p.left(item, live, paths, out.Adoption.Adopted); err != nil {
			return out, err
		}
	}
	body := withoutStringData(item.Object)
	if body, err = p.leave(body, &out); err != nil {
		return out, err
	}
	out.Body, out.Yielded, err = yield.Paths(body, live, p.Manager, paths, p.schemaOf(item))
	if err != nil {
		return out, err
	}
	out.Yielded = distinct(out.Yielded) // A flag and the annotation may say the same.
	out.Stated = out.Body
	if live == nil {
		out.Verdict = settle.Clear
		return out, nil
	}
	claimed, err := leftovers(&out)
	if err != nil {
		return out, err
	}
	if out.Adoption, err = out.Adoption.Claim(live, claimed); err != nil {
		return out, err
	}
	out.halfAdopted = adopt.HalfAdopted(live, out.Body, p.Manager)
	out.interrupted = !out.halfAdopted && adopt.Interrupted(live, p.Manager)
	if !out.Adopts() {
		out.Verdict, _ = settle.Evaluate(live, out.Body, p.Manager)
		p.settleByTypes(&out)
	}
	if len(out.Yielded) > 0 && out.Verdict == settle.Clear {
		// What is yielded has to keep its value: only the server's answer shows it.
		out.Verdict = settle.Doubtful
	}
	return out, nil
}

// distinct returns paths once each, in their order.
func distinct(paths []fieldpath.Path) []fieldpath.Path {
	var out []fieldpath.Path
	for _, path := range paths {
		if !slices.ContainsFunc(out, path.Equal) {
			out = append(out, path)
		}
	}
	return out
}

// settleByTypes looks again, with the kind's schema, at what is not settled without.
func (p Predictor) settleByTypes(in *Prediction) {
	if p.Schema == nil || in.Verdict == settle.Settled {
		return
	}
	if settle.BySchema(in.Live, in.Body, p.Manager, p.schemaOf(in.Item)) {
		in.Verdict = settle.Settled
	}
}

// schemaOf returns what reads the schema of the item's kind; nil if nothing can.
func (p Predictor) schemaOf(item plan.Item) func() *spec.Schema {
	if p.Schema == nil {
		return nil
	}
	return func() *spec.Schema { return p.Schema(item.Kind) }
}

// Check finds fault with what the item itself says of ownership, before anything
// is asked of a server.
func (p Predictor) Check(item plan.Item) error {
	if _, err := p.yields(item); err != nil {
		return err
	}
	return p.checkPositions(item)
}

// yields collects the paths of the item that flags and its annotation yield.
func (p Predictor) yields(item plan.Item) ([]fieldpath.Path, error) {
	paths, err := yieldedBy(item.Object.GetAnnotations()[YieldAnnotation])
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", item.Source, item.Ref, err)
	}
	paths = slices.DeleteFunc(paths, func(path fieldpath.Path) bool { return p.takesByName(item, path) })
	for _, c := range p.Yield {
		if c.Names(item.Ref, item.Kind) {
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}

// conflictBackoff is how a prediction starts again because the object changed between
// the read and the dry run: a controller that fills in a status takes a moment.
func conflictBackoff() wait.Backoff {
	return wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8}
}

// Ask asks the server by a forced dry run what the apply would make of the
// object, and fills in Answer, Conflicts and Taken. It returns the server's
// refusal as it is.
func (p Predictor) Ask(ctx context.Context, server Server, in *Prediction) error {
	for again := conflictBackoff(); ; {
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
			if !in.Adopts() || !apierrors.IsConflict(err) {
				return err
			} // Else the object changed before the second half of the prediction.
		}
		if again.Steps <= 1 {
			return errors.New("the object changes faster than it can be read")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(again.Step()):
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

// dryRun sends the forced dry run. Force can make an object invalid that is
// only contested; then the unforced answer is the one that helps.
func (p Predictor) dryRun(ctx context.Context, server Server, in *Prediction) (*unstructured.Unstructured, error) {
	how := object.Write{Manager: p.Manager, Validation: p.Validation, DryRun: true, Force: in.Live != nil}
	answer, err := server.Apply(ctx, in.Item.Kind, in.Body, how)
	if how.Force && (apierrors.IsInvalid(err) || in.Adopts() && unexplained(err)) {
		how.Force = false
		_, unforced := server.Apply(ctx, in.Item.Kind, in.Body, how)
		conflicts := p.Contested(unforced, in.Live, in.Body)
		if open := p.open(in, conflicts); len(open) > 0 && !in.takesOver() {
			return nil, &ConflictError{Ref: in.Item.Ref, Conflicts: open, Refusal: err}
		}
		if in.Adopts() {
			if heldUp := p.heldUp(ctx, server, in, err, conflicts); heldUp != nil {
				return nil, heldUp
			}
		}
	}
	return answer, err
}

// accept reads an answer that belongs to the live object we know.
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
		if err := p.afterAdoption(ctx, server, in); err != nil {
			return err
		}
	}
	return in.keepsYielded()
}

// sort tells apart what is contested and taken, what is contested and nobody
// said what to do, and what is overwritten because its owners are adopted.
func (p Predictor) sort(in *Prediction, contested []managedfields.Conflict) {
	in.Conflicts = p.open(in, contested)
	for _, c := range contested {
		switch {
		case in.adopted(c):
			in.Overwritten = append(in.Overwritten, c)
		case p.takes(in.Item, c.Path):
			in.Taken = append(in.Taken, c)
		}
	}
}

// open returns the conflicts of which nobody said what to do.
func (p Predictor) open(in *Prediction, contested []managedfields.Conflict) []managedfields.Conflict {
	var out []managedfields.Conflict
	for _, c := range contested {
		if !in.adopted(c) && !p.takes(in.Item, c.Path) {
			out = append(out, c)
		}
	}
	return out
}

// takesByName reports whether the user takes this very path of the item. That is what it
// takes to set, for one run, what is left for good: by the object's annotation, or because
// something in the cluster is meant to set it. Whoever takes all that is above it need not
// know that it is left.
func (p Predictor) takesByName(item plan.Item, path fieldpath.Path) bool {
	return slices.ContainsFunc(p.Take, func(c Choice) bool {
		return len(c.Path) > 0 && c.Names(item.Ref, item.Kind) && fieldpath.SameField(item.Object.Object, c.Path, path)
	})
}

// takes reports whether the user takes the path of the item.
func (p Predictor) takes(item plan.Item, path fieldpath.Path) bool {
	return slices.ContainsFunc(p.Take, func(c Choice) bool {
		return c.Names(item.Ref, item.Kind) && c.covers(path)
	})
}
