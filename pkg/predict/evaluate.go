package predict

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
)

// Evaluate predicts an apply of the item from the live object alone. A nil live object
// means that there is none.
func (p Predictor) Evaluate(item plan.Item, live *unstructured.Unstructured) (Prediction, error) {
	out := Prediction{Item: item, Live: live}
	var err error
	if live != nil {
		if out.Adoption, err = adopt.Plan(live, p.Manager, p.AdoptFrom); err != nil {
			return out, err
		}
		if item, err = p.carry(item, live, out.Adoption.Adopted); err != nil {
			return out, err
		}
		out.Item = item
	}
	paths, err := p.yields(item, live, out.Adoption.Adopted)
	if err != nil {
		return out, err
	}
	if live != nil {
		if out.Left, err = p.left(item, live, paths, out.Adoption.Adopted); err != nil {
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
	out.Stated = out.Body
	if live == nil {
		out.Verdict = noop.Clear
		return out, nil
	}
	claimed, err := Leftovers(item.GVK.GroupKind(), item.Object, out.Body, live)
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
		out.Verdict, _ = noop.Evaluate(live, out.Body, p.Manager)
		p.settleByTypes(&out)
	}
	if len(out.Yielded) > 0 && out.Verdict == noop.Clear {
		// A yielded field has to keep its value, and only the server's answer shows whether it
		// does.
		out.Verdict = noop.Doubtful
	}
	return out, nil
}

// settleByTypes evaluates again, with the types of the kind, what is not settled without them:
// with what is known of it before its schema.
func (p Predictor) settleByTypes(in *Prediction) {
	if in.Verdict == noop.Unchanged || in.Verdict == noop.Contested {
		return
	}
	for _, types := range []func() openapi.Type{p.knownOf(in.Item), p.schemaOf(in.Item)} {
		if types != nil && noop.BySchema(in.Live, in.Body, p.Manager, types) {
			in.Verdict = noop.Unchanged
			return
		}
	}
}

// Check returns an error if what the item itself says about ownership is wrong. It asks no
// server.
func (p Predictor) Check(item plan.Item) error {
	if _, err := yieldedBy(item.Object.GetAnnotations()[YieldAnnotation]); err != nil {
		return fmt.Errorf("%s: %s: %w", item.Source, item.Ref, err)
	}
	if err := p.checkRecreate(item); err != nil {
		return err
	}
	return p.checkPositions(item)
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
