package predict

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

// contested returns the conflicts of the apply. The response to the forced dry run only suggests
// conflicts. If it suggests any, or if the object has no managed fields, a dry run without force
// finds the real ones. Conflicts that adoption resolves come only from the forced response.
func (p Predictor) contested(ctx context.Context, server Server, in *Prediction) ([]managedfields.Conflict, error) {
	entries, after, err := in.bothEntries(in.Answer)
	if err != nil {
		return nil, err
	}
	suggested := taken(in.Live, in.Answer, in.Body, entries, after, p.Manager)
	unseen, err := unseenBy(in.Body, in.Live, p.Manager)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 && len(in.notAdopted(slices.Concat(suggested, unseen))) == 0 {
		return suggested, nil
	}
	truth, err := p.asked(ctx, server, in)
	if err != nil {
		return nil, err
	}
	adopted := slices.DeleteFunc(suggested, func(c managedfields.Conflict) bool { return !in.adopted(c) })
	all := slices.Concat(truth, adopted)
	managedfields.SortConflicts(all)
	return all, nil
}

// asked sends dry runs without force and returns the conflicts with managers that are not adopted.
//
// If the apply would not change the value of a contested path, the manifest only spells the value
// differently. Examples are another spelling of a quantity, a missing default inside an atomic
// value, and null for an absent field. Body then gets the live spelling, so that we share the path
// and no owner loses it (edge case 84). If that fails, the conflict is marked with SameValue.
//
// All responses must be about one version of the object; otherwise asked returns errMoved.
func (p Predictor) asked(ctx context.Context, server Server, in *Prediction) ([]managedfields.Conflict, error) {
	conflicts, answer, err := p.unforced(ctx, server, in, in.Body)
	if err != nil {
		return nil, err
	}
	switch {
	case len(conflicts) == 0 && answer == nil: // Only adopted managers are in conflict.
		return nil, nil
	case len(conflicts) == 0:
		return nil, in.accepted(answer)
	}
	spelt, body := in.Answer, in.Body
	left := conflicts
	for range rounds {
		body = Align(body, in.Live, samePaths(left))
		if body == nil {
			break
		}
		if verdict, _ := noop.Evaluate(in.Live, body, p.Manager); verdict == noop.Unchanged && sameContent(in.Live, spelt) {
			in.Body, in.Answer = body, in.Live
			return nil, nil
		}
		if left, answer, err = p.unforced(ctx, server, in, body); err != nil {
			break
		}
		if len(samePaths(left)) > 0 {
			continue
		}
		if answer == nil {
			how := p.probe()
			how.Force = true
			if answer, err = server.Apply(ctx, in.Item.Kind, in.asked(body), how); err != nil {
				break
			}
		}
		if err := in.accepted(answer); err != nil {
			return nil, err
		}
		if sameContent(answer, spelt) {
			in.Body = body
			return left, nil
		}
		in.Answer = spelt
		break
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(samePaths(conflicts)) == 0 {
		return conflicts, nil
	}
	// The live spelling cannot be used: it would change the value, or the server refused it.
	return conflicts, p.unmoved(ctx, server, in)
}

var errMoved = errors.New("the object has changed in the meantime")

func (p Predictor) unmoved(ctx context.Context, server Server, in *Prediction) error {
	now, err := server.Get(ctx, in.Item.Kind, in.Item.Ref)
	if err == nil && now.GetResourceVersion() != in.Live.GetResourceVersion() || apierrors.IsNotFound(err) {
		return errMoved
	}
	return err
}

// rounds is the maximum number of times that live spellings are copied to Body. Copying one may
// reveal a conflict at another path.
const rounds = 3

func (in *Prediction) accepted(answer *unstructured.Unstructured) error {
	if answer.GetResourceVersion() != in.Live.GetResourceVersion() {
		return errMoved
	}
	in.Answer = answer
	return nil
}

func (in *Prediction) notAdopted(conflicts []managedfields.Conflict) []managedfields.Conflict {
	return slices.DeleteFunc(slices.Clone(conflicts), in.adopted)
}

// unforced returns the conflicts if the server refuses the apply, and the response if the server
// accepts it. It returns neither if all conflicts are with adopted managers.
func (p Predictor) unforced(ctx context.Context, server Server, in *Prediction, body *unstructured.Unstructured) ([]managedfields.Conflict, *unstructured.Unstructured, error) {
	answer, err := server.Apply(ctx, in.Item.Kind, in.asked(body), p.probe())
	if err != nil && !IsContested(err) {
		return nil, nil, err
	}
	unseen, unseenErr := unseenBy(body, in.Live, p.Manager)
	if unseenErr != nil {
		return nil, nil, unseenErr
	}
	conflicts := in.notAdopted(slices.Concat(p.Contested(err, in.Live, in.Declared), unseen))
	if err == nil && len(conflicts) == 0 {
		return nil, answer, nil
	}
	for i := range conflicts {
		path := conflicts[i].Path
		conflicts[i].SameValue = in.hasPath(path) && path.Same(in.Live.Object, in.Answer.Object) && !in.followsSurplus(path)
	}
	return conflicts, nil, nil
}

// hasPath reports whether the manifest or the live object contains the path. At another API version,
// the owner may know the field by another name.
func (in *Prediction) hasPath(path fieldpath.Path) bool {
	_, declared := path.Get(in.Declared.Object)
	_, live := path.Get(in.Live.Object)
	return declared || live
}

func samePaths(conflicts []managedfields.Conflict) []fieldpath.Path {
	var paths []fieldpath.Path
	for _, c := range conflicts {
		if c.SameValue {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// Align returns a copy of the manifest in which the given paths have their live values, or are
// absent if the live object lacks them. Paths that end in a list item are skipped. Align returns
// nil if nothing changes.
func Align(manifest, live *unstructured.Unstructured, paths []fieldpath.Path) *unstructured.Unstructured {
	var out *unstructured.Unstructured
	for _, p := range paths {
		if len(p) == 0 || p[len(p)-1].FieldName == nil {
			continue
		}
		v, has := p.Get(live.Object)
		if declared, ok := p.Get(manifest.Object); !ok || has && fieldpath.Equal(declared, v) {
			continue
		}
		if out == nil {
			out = manifest.DeepCopy()
		}
		if has {
			fieldpath.Put(out.Object, p, fieldpath.Clone(v))
		} else {
			fieldpath.Delete(out.Object, p)
		}
	}
	return out
}
