package predict

import (
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// adoptFrom adds to AdoptFrom what depends on the item.
func (p Predictor) adoptFrom(item plan.Item) adopt.From {
	from := p.AdoptFrom
	from.Status = item.Object.Object["status"] != nil
	if noop.SetsNothing(item.Object.Object) {
		// We never own a field of such an object, so each apply would look like the first one.
		from.Once = nil
	}
	types := openapi.Schema{Fetch: func() openapi.Type {
		if known := p.typeOf(item.Kind); known != nil || p.Schema == nil {
			return known
		}
		return p.Schema(item.Kind)
	}}
	from.Granular = func(path fieldpath.Path) bool {
		return openapi.RelationOf(types.At(path)) == openapi.Granular
	}
	from.Hollow = func(path fieldpath.Path) bool {
		v, declared := path.Get(item.Object.Object)
		return declared && isHollow(v, path, from.Granular)
	}
	return from
}

// isHollow reports whether an apply of the value owns nothing: it is an empty list whose items have
// owners of their own, or it consists of such lists.
func isHollow(v any, path fieldpath.Path, granular func(fieldpath.Path) bool) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0 && granular(path)
	case map[string]any:
		for name, field := range v {
			if !isHollow(field, path.Child(fieldpath.FieldElement(name)), granular) {
				return false
			}
		}
		return len(v) > 0
	}
	return false
}

// spareDefaults keeps the server's defaults below empty values out of the adoption. The dry run that
// shows these defaults is only sent if the adoption contains such fields. If the server refuses it,
// the adoption stays as it is.
func (p Predictor) spareDefaults(ctx context.Context, server Server, in *Prediction) {
	if in.Live == nil || !in.Adoption.MayTakeDefaults(in.Item.Object.Object, in.Declared.Object) {
		return
	}
	if created, err := p.alone(ctx, server, in); err == nil {
		in.Adoption = in.Adoption.SpareDefaults(in.Item.Object.Object, created.Object)
	}
}

// heldUpError means that the apply is invalid until an adopted manager's fields are ours. For
// example, a list item that the apply will remove may still have the name that the manifest gives
// to another item. A dry run cannot adopt the fields first.
type heldUpError struct {
	conflicts []managedfields.Conflict
	alone     *unstructured.Unstructured
}

func (e *heldUpError) Error() string { return "not valid until the adoption" }

// moved predicts the result of an apply that becomes valid only once we own the adopted fields.
// why.alone is the manifest as the server would create it. Its fields replace ours in the live
// object, and a dry-run update validates the result. moved returns false if the object has changed.
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
		in.Unchecked = "not checked by the server: it can be checked only after " + first(in.Adoption)
	}
	p.classify(in, why.conflicts)
	in.Adoption = in.Adoption.LeaveContested(why.conflicts)
	return true
}

func first(a adopt.Adoption) string {
	switch {
	case len(a.Adopted) > 0:
		return "the fields of " + a.Adopted[0].Manager + " are adopted"
	case len(a.Claimed) == 0:
		return "the fields that others have added are removed"
	}
	return "the server's default for " + a.Claimed[0].String() + " is removed"
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
	moved.SetManagedFields(nil) // The server keeps the live managed fields.
	answer, err := server.Update(ctx, in.Item.Kind, moved, p.probe())
	if err != nil {
		return nil, err
	}
	return answer, unstructured.SetNestedSlice(answer.Object, entries, "metadata", "managedFields")
}

// heldUp returns a *heldUpError if the server seems to refuse the apply only because we do not own
// the adopted fields yet. In that case, the server normally accepts the manifest as a new object.
// But it may refuse a new object for other reasons, such as a quota or a port in use. So heldUp
// also examines the fields that the refusal names.
func (p Predictor) heldUp(ctx context.Context, server Server, in *Prediction, refusal error, contested []managedfields.Conflict) error {
	if isEmptied(in.Body, refusal) {
		return nil
	}
	alone, err := p.alone(ctx, server, in)
	if in.Adoption.OnlyRemoves() {
		// The result is known, so the server can judge it.
		if err != nil {
			return nil
		}
		if _, err := p.updated(ctx, server, in, alone); err != nil && !apierrors.IsConflict(err) {
			return nil
		}
	}
	if err == nil || p.waitsForAdopted(in, refusal) || waitsForLeftovers(in, refusal) || unexplained(refusal) && !unexplained(err) {
		return &heldUpError{conflicts: contested, alone: alone}
	}
	return nil
}

// isEmptied reports whether the server refuses a map or list that the manifest sets to {} or []. That is
// so if the apply removes our last field in it: the server then stores null. No adoption helps.
func isEmptied(body *unstructured.Unstructured, refusal error) bool {
	return slices.ContainsFunc(Causes(refusal), func(cause metav1.StatusCause) bool {
		path, err := fieldpath.ParsePath("." + cause.Field)
		if err != nil {
			return false
		}
		v, declared := path.Get(body.Object)
		return declared && fieldpath.IsContainer(v) && fieldpath.IsEmpty(v)
	})
}

// waitsForAdopted reports whether some fields are missing from the manifest and belong only to
// adopted managers. It searches the lists and the fields that the refusal names, and the parents of
// those fields.
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

func waitsForLeftovers(in *Prediction, refusal error) bool {
	causes := Causes(refusal)
	return len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return !slices.ContainsFunc(in.Adoption.Claimed, func(member fieldpath.Path) bool {
			// The server names list items by position, so only the path of the list can be
			// compared.
			list, _, _ := strings.Cut(member[:len(member)-1].String(), "[")
			return strings.HasPrefix("."+cause.Field, list)
		})
	})
}

// afterAdoption predicts what happens to fields that an adopted manager owns and the manifest
// lacks. A dry run cannot adopt these fields first. So afterAdoption removes them from the
// response, and a second dry run fills in the defaults.
func (p Predictor) afterAdoption(ctx context.Context, server Server, in *Prediction) error {
	dropped, emptied, err := adopt.Dropped(in.Live, in.Answer, p.Manager, in.Adoption)
	if err != nil {
		return err
	}
	var gone []fieldpath.Path
	for _, c := range dropped {
		if c.Kind == managedfields.Removed {
			gone = append(gone, c.Path)
		}
	}
	surplus := make([]fieldpath.Path, len(in.Surplus))
	for i, a := range in.Surplus {
		surplus[i] = a.Path
	}
	answer := in.Answer
	without := adopt.WithoutSurplus(answer, surplus, in.Body)
	if without == nil {
		without = adopt.Without(answer, gone, emptied...)
	} else if more := adopt.Without(without, slices.Concat(gone, emptied)); more != nil {
		without = more // The surplus was perhaps all that was left in the emptied maps.
	}
	if without != nil {
		restoreAlias(in.Body, without)
		if answer, err = server.Update(ctx, in.Item.Kind, without, p.probe()); err != nil {
			return err
		}
	}
	entries, err := in.Adoption.LetGo(in.Answer)
	if err != nil {
		return err
	}
	in.Answer = withManagedFields(answer, entries)
	return nil
}

// withManagedFields returns the object with other managed fields. It shares the rest.
func withManagedFields(u *unstructured.Unstructured, entries []any) *unstructured.Unstructured {
	out := maps.Clone(u.Object)
	meta, _ := out["metadata"].(map[string]any)
	if meta = maps.Clone(meta); meta == nil {
		meta = map[string]any{}
	}
	meta["managedFields"], out["metadata"] = entries, meta
	return &unstructured.Unstructured{Object: out}
}

// AdoptedFrom returns the managers from which this apply, or an earlier interrupted run, adopts
// fields.
func (in *Prediction) AdoptedFrom() []string {
	names := slices.Clone(in.Adoption.Earlier)
	for _, owner := range in.Adoption.Adopted {
		names = append(names, owner.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OnlyOwners reports whether the apply only adopts fields and changes nothing else in the object,
// except that it may remove the adopted manager's last-applied annotation.
func (in *Prediction) OnlyOwners(changes []managedfields.Change) bool {
	return len(in.AdoptedFrom()) > 0 && !slices.ContainsFunc(changes, func(c managedfields.Change) bool {
		return c.Kind != managedfields.Removed || !managedfields.IsLastApplied(c.Path)
	})
}
