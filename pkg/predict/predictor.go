package predict

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Server is the part of the API client that predictions need.
type Server interface {
	object.Applier
	Update(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
}

// Predictor predicts the results of apply requests by one field manager with one set of choices.
type Predictor struct {
	Manager     string
	Take, Yield []Choice
	Standing    Standing
	// OnDecision is called with the effect of each choice whenever an object is evaluated. Calls
	// may be concurrent. OnDecision may be nil.
	OnDecision func(Decision)
	// Recreate matches the objects that may be deleted and recreated if the manifest changes an
	// immutable field.
	Recreate []Choice
	// AdoptFrom lists the managers whose fields we adopt. The apply removes adopted fields that the
	// manifest does not set.
	AdoptFrom adopt.From
	// Exclusive reports whether an apply removes what an owner has added to an object and the manifest
	// lacks. If it is nil, an apply removes nothing of others.
	Exclusive func(item plan.Item, owner managedfields.Owner) bool
	// Carry is the key of a label that an apply keeps even if the manifest does not set it. It may
	// be empty.
	Carry string
	// Validation is the server's field validation: Strict, Warn or Ignore.
	Validation string
	// Locate may be nil.
	Locate Locator
	// Known returns the compiled-in type of one of Kubernetes' own kinds, and nil for other kinds.
	// It is called concurrently, and may be nil.
	Known func(kind object.Kind) openapi.Type
	// Schema returns the API server's schema of a kind; nil if there is none. It is called to
	// settle what the live object and Known leave in doubt, to identify yielded list items that
	// omit part of their key, and to suggest field names. It may be nil.
	Schema func(kind object.Kind) openapi.Type
}

// Prediction is the predicted result of applying one manifest.
type Prediction struct {
	Item plan.Item
	// Live is nil if the object does not exist.
	Live *unstructured.Unstructured
	// Body is the manifest to send, without yielded fields. Where the manifest merely spells
	// another owner's value differently, Body uses the live object's spelling.
	Body *unstructured.Unstructured
	// Declared is the manifest without yielded fields, in its own spelling.
	Declared *unstructured.Unstructured
	Verdict  noop.Verdict
	Adoption adopt.Adoption
	// Yielded lists the paths that the user leaves to their owners. Left lists the fields that a
	// component in the cluster sets and keeps, such as a webhook's CA bundle.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	// Surplus lists the values that others have added and the apply removes. Undecided is the reason why
	// the values that may be defaults are not among them; nil if there are none. Both are empty before
	// Ask.
	Surplus   []exclusive.Addition
	Undecided error
	// Unbound lists the fields of a copy that are left out because they are bound to the object that
	// was copied.
	Unbound []object.BoundField

	// Answer is the server's response to a dry run. It is nil before Ask, and if Unchecked is set.
	Answer *unstructured.Unstructured
	// Unchecked explains why the server cannot check the object. It is empty if the server can
	// check it.
	Unchecked string
	// Conflicts lists the conflicts that no choice has decided yet. Taken lists the conflicts in
	// which the user takes the path. Overwritten lists the conflicts with adopted managers, whose
	// values the manifest changes. All three are empty before Ask.
	Conflicts, Taken, Overwritten []managedfields.Conflict

	// earlier lists the surplus that this run has already made ours, unless another client has written it since.
	earlier []exclusive.Addition
	// unrecorded contains the fields of a live object without any owner; nil if it has owners.
	unrecorded *fieldpath.Set
	// decoded is nil except between Reuse and its end.
	decoded *decoded
}

// typeOf returns the compiled-in type of a kind; nil if there is none.
func (p Predictor) typeOf(kind object.Kind) openapi.Type {
	if p.Known == nil {
		return nil
	}
	return p.Known(kind)
}

func (p Predictor) schemaOf(item plan.Item) func() openapi.Type {
	if p.Schema == nil {
		return nil
	}
	return func() openapi.Type { return p.Schema(item.Kind) }
}

func (p Predictor) probe() object.Write {
	return object.Write{Manager: p.Manager, Validation: p.Validation, DryRun: true}
}

func (p Predictor) taker(item plan.Item, c managedfields.Conflict) (message, bool) {
	takes := func(choice Choice) bool {
		return choice.Names(item.Ref, item.Kind) && choice.Path.Covers(c.Path) && choice.meansAll(c.Owners) &&
			(choice.Of == nil || choice.Of.IsStill(c))
	}
	if i := slices.IndexFunc(p.Take, takes); i >= 0 {
		return message{p.Take[i], "--take"}, true
	}
	if i := slices.IndexFunc(p.Standing.Take, takes); i >= 0 {
		return message{p.Standing.Take[i], p.Standing.Take[i].From}, true
	}
	return message{}, false
}

// takerByName returns the choice that names exactly this path. Only such a choice overrides an
// annotation, a standing rule or the built-in table that leaves the path to its owner. A user who
// takes a parent may not know that a path below it is left to others.
func (p Predictor) takerByName(choices []Choice, item plan.Item, path fieldpath.Path, owners []managedfields.Owner) (Choice, bool) {
	i := slices.IndexFunc(choices, func(c Choice) bool {
		return len(c.Path) > 0 && c.Names(item.Ref, item.Kind) && c.meansAll(owners) && c.Path.Means(item.Object.Object, path)
	})
	if i < 0 {
		return Choice{}, false
	}
	return choices[i], true
}

// Locator finds a field in a manifest's file. steps are the keys and list positions that lead to
// the field. It returns the location of the field and, for an unquoted scalar, its text. If it does
// not find the field, it returns the given location.
type Locator func(at object.Source, steps []any) (object.Source, string)

// Adopts reports whether managed fields must be changed before the apply.
func (p *Prediction) Adopts() bool { return p.Adoption.Needed() }

func (p *Prediction) adopted(c managedfields.Conflict) bool {
	for _, owner := range c.Owners {
		if !slices.Contains(p.Adoption.Adopted, owner) {
			return false
		}
	}
	return len(c.Owners) > 0
}

// carry adds the Carry label to the item if we own that label in the live object. If the manifest
// lacked it, the apply would remove the label.
func (p Predictor) carry(item plan.Item, live *unstructured.Unstructured, adopted []managedfields.Owner) (plan.Item, error) {
	value, labelled := live.GetLabels()[p.Carry]
	if p.Carry == "" || !labelled {
		return item, nil
	}
	if _, declared := item.Object.GetLabels()[p.Carry]; declared {
		return item, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return item, err
	}
	ours := func(o managedfields.Owner) bool {
		return slices.Contains(adopted, o) || o.Manager == p.Manager && o.Operation == managedfields.Apply && o.Subresource == ""
	}
	if slices.ContainsFunc(managedfields.HoldersOf(entries, fieldpath.Field("metadata", "labels", p.Carry)), ours) {
		item.Object = object.WithLabel(item.Object, p.Carry, value)
	}
	return item, nil
}
