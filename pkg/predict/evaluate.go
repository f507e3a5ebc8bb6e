package predict

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Evaluate uses the live object to predict the result of applying the item. It may call Schema, but
// sends no other requests. live is nil if the object does not exist.
func (p Predictor) Evaluate(item plan.Item, live *unstructured.Unstructured) (out Prediction, err error) {
	item, unbound := p.rebound(item, live)
	out = Prediction{Item: item, Live: live, Unbound: unbound}
	defer out.Reuse()()
	p.reportManagers(item, live)
	if live != nil {
		entries, err := out.Entries(live)
		if err != nil {
			return out, err
		}
		out.Adoption = adopt.PlanFrom(live, entries, p.Manager, p.adoptFrom(item))
		if item, err = p.carry(item, live, out.Adoption.Adopted); err != nil {
			return out, err
		}
		out.Item = item
	}
	if item.Object, err = p.withoutNulls(item, live, out.Adoption.Adopted); err != nil {
		return out, err
	}
	paths, err := p.yields(item, live, out.Adoption.Adopted)
	if err != nil {
		return out, err
	}
	if live != nil {
		if out.Left, err = p.left(&out, item, paths, out.Adoption.Adopted); err != nil {
			return out, err
		}
	}
	body := WithoutContradiction(WithoutStringData(item.Object))
	if body, err = p.leave(body, &out); err != nil {
		return out, err
	}
	out.Body, out.Yielded, err = yield.Paths(body, live, p.Manager, paths, p.schemaOf(item))
	if err != nil {
		return out, err
	}
	out.Yielded = distinct(out.Yielded) // A flag and the annotation may name the same path.
	released, kept, err := yield.Left(out.Body, live, p.Manager, paths)
	if err != nil {
		return out, err
	}
	if !kept.Empty() {
		out.Body = adopt.Overlaid(out.Body, live, kept)
	}
	out.Declared = out.Body
	if live == nil {
		out.Verdict = noop.Clear
		return out, nil
	}
	unowned, err := out.Adoption.Unowned(live)
	if err != nil {
		return out, err
	}
	claimed, err := leftovers(item.GVK.GroupKind(), item.Object, out.Body, unowned, out.Entries)
	if err != nil {
		return out, err
	}
	body, recorded, err := Beside(out.Body, live, p.Manager)
	if err != nil {
		return out, err
	}
	out.Body = body
	out.Adoption = out.Adoption.Claim(live, slices.Concat(claimed, recorded)).Release(released)
	if !out.Adopts() {
		entries, err := out.Entries(live)
		if err != nil {
			return out, err
		}
		out.Verdict, _ = noop.EvaluateFrom(live, entries, out.Body, p.Manager)
		p.settleByTypes(&out)
	}
	if len(out.Yielded) > 0 && out.Verdict == noop.Clear {
		// Only the server's response shows whether a yielded field keeps its value.
		out.Verdict = noop.Doubtful
	}
	if out.Verdict == noop.Clear && !object.IsBuiltIn(item.GVK.Group) && p.maySplit(&out) {
		out.Verdict = noop.Doubtful
	}
	return out, p.doubtSurplus(&out)
}

// settleByTypes sets the verdict to Unchanged if the kind's schema proves it. The server's schema
// is read only if the compiled-in type does not settle the question.
func (p Predictor) settleByTypes(in *Prediction) {
	if in.Verdict == noop.Unchanged || in.Verdict == noop.Contested {
		return
	}
	entries, err := in.Entries(in.Live)
	if err != nil {
		return
	}
	if known := p.typeOf(in.Item.Kind); known != nil && noop.BySchemaFrom(in.Live, entries, in.Body, p.Manager, func() openapi.Type { return known }) {
		in.Verdict = noop.Unchanged
		return
	}
	if types := p.schemaOf(in.Item); types != nil && noop.BySchemaFrom(in.Live, entries, in.Body, p.Manager, types) {
		in.Verdict = noop.Unchanged
	}
}

// Check validates the item's annotations and the paths of choices. It sends no requests.
func (p Predictor) Check(item plan.Item) error {
	if _, err := yieldedBy(item.Object.GetAnnotations()[YieldAnnotation]); err != nil {
		return fmt.Errorf("%s: %s: %w", item.Source, item.Ref, err)
	}
	if err := p.checkRecreate(item); err != nil {
		return err
	}
	return p.checkPositions(item)
}

func distinct(paths []fieldpath.Path) []fieldpath.Path {
	var out []fieldpath.Path
	for _, path := range paths {
		if !slices.ContainsFunc(out, path.Equal) {
			out = append(out, path)
		}
	}
	return out
}

// Ask predicts the result of the apply by sending a forced dry run, and sets Answer, Conflicts and
// Taken. If the server refuses the apply, Ask returns the server's error unchanged. If other
// clients keep changing the object, Ask returns a *[retry.LostError].
func (p Predictor) Ask(ctx context.Context, server Server, in *Prediction) error {
	for attempts := retry.At(in.Item.Ref); ; {
		attempts.OnRead(in.Live)
		p.spareDefaults(ctx, server, in)
		if err := p.findSurplus(ctx, server, in); err != nil {
			return err
		}
		answer, err := p.dryRun(ctx, server, in)
		heldUp, isHeldUp := errors.AsType[*heldUpError](err)
		switch {
		case isHeldUp:
			if p.moved(ctx, server, in, heldUp) {
				return nil
			} // If moved returns false, the object has changed.
		case err != nil:
			return err
		case in.Live == nil || answer.GetResourceVersion() == in.Live.GetResourceVersion():
			err := p.accept(ctx, server, in, answer)
			if !errors.Is(err, errMoved) && (!in.Adopts() || !apierrors.IsConflict(err)) {
				return err
			} // Otherwise the object changed between two requests.
		}
		if err := attempts.Again(ctx); err != nil {
			return err
		}
		if err := p.Refresh(ctx, server, in); err != nil {
			return err
		}
	}
}

// Refresh reads the live object again and evaluates it.
func (p Predictor) Refresh(ctx context.Context, server Server, in *Prediction) error {
	live, err := server.Get(ctx, in.Item.Kind, in.Item.Ref)
	if apierrors.IsNotFound(err) {
		live, err = nil, nil
	}
	if err != nil {
		return err
	}
	earlier := append(in.earlier, in.Surplus...)
	*in, err = p.Evaluate(in.Item, live)
	in.earlier = earlier
	return err
}

// dryRun returns the server's response to a dry run, which is forced if the object exists. If
// forcing the apply would make the object invalid, dryRun returns the conflicts from a dry run
// without force.
func (p Predictor) dryRun(ctx context.Context, server Server, in *Prediction) (*unstructured.Unstructured, error) {
	how := p.probe()
	how.Force = in.Live != nil
	answer, err := server.Apply(ctx, in.Item.Kind, in.asked(in.Body), how)
	if how.Force && (apierrors.IsInvalid(err) || in.Adopts() && unexplained(err)) {
		how.Force = false
		_, unforced := server.Apply(ctx, in.Item.Kind, in.asked(in.Body), how)
		conflicts := p.Contested(unforced, in.Live, in.Body)
		if open := p.open(in, conflicts); len(open) > 0 && len(in.Adoption.Adopted) == 0 {
			return nil, &ConflictError{Ref: in.Item.Ref, Conflicts: open, Refusal: err}
		}
		// Fields to be released are ignored here, because releasing a field cannot make the object
		// valid.
		if in.Adoption.Release(nil).LeaveContested(conflicts).Transfers() {
			if heldUp := p.heldUp(ctx, server, in, err, conflicts); heldUp != nil {
				return nil, heldUp
			}
		}
	}
	return answer, err
}

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
	for i := range contested { // A null in the manifest asks for the server's default.
		if c := &contested[i]; c.Yours == nil {
			c.Yours, _ = c.Path.Get(in.Answer.Object)
		}
	}
	p.classify(in, contested)
	orphans, err := p.orphaned(in, answer)
	if err != nil {
		return err
	}
	if len(orphans) > 0 {
		in.Adoption = in.Adoption.Claim(in.Live, slices.Concat(in.Adoption.Claimed, orphans))
	}
	if in.Adopts() {
		if in.Adoption, err = in.Adoption.Leave(in.Answer); err != nil {
			return err
		}
		if err := p.afterRemoval(ctx, server, in); err != nil {
			return err
		}
	}
	return in.keepsYielded()
}

// Same reports whether two responses have the same content and the same owners, ignoring
// timestamps.
func Same(a, b *unstructured.Unstructured) bool {
	return sameContent(a, b) && managedfields.SameOwners(a, b)
}

func sameContent(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(content(a), content(b))
}

func content(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(u.Object)
	meta, ok := out["metadata"].(map[string]any)
	if !ok {
		return out
	}
	meta = maps.Clone(meta)
	for _, own := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(meta, own)
	}
	out["metadata"] = meta
	return out
}

// NoChange reports whether the apply can be skipped because it changes neither content nor owners. If the
// manifest sets nothing and the object has no owners, the server would only attribute all fields to
// before-first-apply.
func (p *Prediction) NoChange() bool {
	if p.Live == nil || p.Answer == nil || p.Adopts() {
		return false
	}
	isUnowned := len(p.Live.GetManagedFields()) == 0 && noop.SetsNothing(p.Body.Object)
	return Same(p.Live, p.Answer) || isUnowned && sameContent(p.Live, p.Answer)
}

// View is an object before and after an apply, reduced to the fields that the manager owned or will
// own.
type View struct {
	Before, After map[string]any
	Set           *fieldpath.Set
	// same means that the whole object has the same content before and after.
	same bool
}

// View returns the object before and after an apply. answer is the server's response to the apply
// or to a dry run. If answer is nil, After comes from the manifest. Before includes the fields of
// adopted managers.
func (p Predictor) View(in *Prediction, answer *unstructured.Unstructured) (View, error) {
	set, err := p.owned(in, answer)
	if err != nil {
		return View{}, err
	}
	set = set.Union(fieldpath.EmptyLists(in.Body.Object))
	var view View
	if in.Live != nil {
		before, err := p.owned(in, in.Live, in.Adoption.Adopted...)
		if err != nil {
			return View{}, err
		}
		set = set.Union(before).Union(in.Adoption.ClaimedSet())
		view.Before = managedfields.Project(in.Live.Object, set)
	}
	view.Set = set
	if answer == nil {
		view.After = declared(in.Body)
	} else {
		view.After = managedfields.Project(answer.Object, set)
		view.same = in.Live != nil && sameContent(in.Live, answer)
	}
	return view, nil
}

func (p Predictor) owned(in *Prediction, u *unstructured.Unstructured, others ...managedfields.Owner) (*fieldpath.Set, error) {
	if u == nil {
		return &fieldpath.Set{}, nil
	}
	entries, err := in.Entries(u)
	if err != nil {
		return nil, err
	}
	set := managedfields.Managed(entries, p.Manager)
	for _, entry := range entries {
		if slices.Contains(others, entry.Owner) {
			set = set.Union(entry.Fields)
		}
	}
	return set, nil
}

func declared(manifest *unstructured.Unstructured) map[string]any {
	out := maps.Clone(manifest.Object)
	delete(out, "apiVersion")
	delete(out, "kind")
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		delete(meta, "name")
		delete(meta, "namespace")
		out["metadata"] = meta
		if len(meta) == 0 {
			delete(out, "metadata")
		}
	}
	return out
}

// Changes returns the differences between Before and After.
func (v View) Changes() []managedfields.Change {
	if v.same {
		return nil
	}
	return managedfields.Compare(v.Before, v.After, v.Set)
}

// Left returns the paths that the manager owned and the manifest no longer sets, and what happens
// to each; see [adopt.Dropped].
func (p Predictor) Left(in *Prediction, answer *unstructured.Unstructured) ([]managedfields.Change, error) {
	if in.Live == nil || answer == nil {
		return nil, nil
	}
	before, after, err := in.bothEntries(answer)
	if err != nil {
		return nil, err
	}
	changes, _ := adopt.DroppedFrom(in.Live, answer, before, after, p.Manager, in.Adoption)
	return changes, nil
}
