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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// Server is the part of the API client that predictions need.
type Server interface {
	object.Applier
	Update(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
}

// Predictor predicts applies with one field manager and one set of choices.
type Predictor struct {
	// Manager is our field manager.
	Manager string
	// Take and Yield are the user's choices for this run.
	Take, Yield []Choice
	// Standing are choices that hold for many runs.
	Standing Standing
	// OnDecision is called with the effect of each choice whenever an object is evaluated. It may
	// be nil, and is called concurrently.
	OnDecision func(Decision)
	// Recreate matches the objects to recreate if the manifest changes an immutable field.
	Recreate []Choice
	// AdoptFrom are the managers to adopt from: their fields that are not in the manifest are
	// removed from the object.
	AdoptFrom adopt.From
	// Carry is a label that an apply keeps although the manifest lacks it; empty for none.
	Carry string
	// Validation is the server's field validation: Strict, Warn or Ignore.
	Validation string
	// Locate finds a field in the manifest's file; it may be nil.
	Locate Locator
	// Known returns the built-in type of a kind, or nil. It may be nil, and is called concurrently.
	Known func(kind object.Kind) openapi.Type
	// Schema returns the schema by which the server reads a kind, or nil. It is called only if the
	// live object and built-in types leave a doubt, and to suggest fields. It may be nil.
	Schema func(kind object.Kind) openapi.Type
}

// Prediction is the predicted apply of one manifest.
type Prediction struct {
	Item plan.Item
	// Live is the live object; nil if there is none.
	Live *unstructured.Unstructured
	// Body is the manifest to send: without yielded fields, and with the live spelling where others
	// own the same value.
	Body *unstructured.Unstructured
	// Stated is the manifest without yielded fields, in its own spelling.
	Stated *unstructured.Unstructured
	// Verdict is the prediction from the live object alone.
	Verdict noop.Verdict
	// Adoption is the change of managed fields before the apply; mostly empty.
	Adoption adopt.Adoption
	// Yielded are the paths that the user leaves to their owners; Left are values that a component
	// in the cluster sets and keeps.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict

	// Answer is the server's answer to a dry run; nil before Ask, and if Unchecked is set.
	Answer *unstructured.Unstructured
	// Unchecked is why the server cannot check the object; empty if it can.
	Unchecked string
	// Conflicts are open; Taken are those that the user takes; Overwritten are values of adopted
	// managers that the manifest changes. All are empty before Ask.
	Conflicts, Taken, Overwritten []managedfields.Conflict
}

// schemaOf returns a function that reads the schema of the item's kind, or nil.
func (p Predictor) schemaOf(item plan.Item) func() openapi.Type {
	if p.Schema == nil {
		return nil
	}
	return func() openapi.Type { return p.Schema(item.Kind) }
}

// probe returns the options of a dry run without force.
func (p Predictor) probe() object.Write {
	return object.Write{Manager: p.Manager, Validation: p.Validation, DryRun: true}
}

// taker returns the choice by which the user takes a contested path. Choices of this run precede
// standing ones.
func (p Predictor) taker(item plan.Item, c managedfields.Conflict) (said, bool) {
	takes := func(choice Choice) bool {
		return choice.Names(item.Ref, item.Kind) && choice.Path.Covers(c.Path) && choice.meansAll(c.Owners) &&
			(choice.Of == nil || choice.Of.IsStill(c))
	}
	if i := slices.IndexFunc(p.Take, takes); i >= 0 {
		return said{p.Take[i], "--take"}, true
	}
	if i := slices.IndexFunc(p.Standing.Take, takes); i >= 0 {
		return said{p.Standing.Take[i], p.Standing.Take[i].From}, true
	}
	return said{}, false
}

// takerByName returns the choice that takes exactly this path. Only such a choice overrides what is
// normally left to others by an annotation, a standing rule or the built-in table: a user who takes
// a parent may not know that the path is left.
func (p Predictor) takerByName(choices []Choice, item plan.Item, path fieldpath.Path, owners []managedfields.Owner) (Choice, bool) {
	i := slices.IndexFunc(choices, func(c Choice) bool {
		return len(c.Path) > 0 && c.Names(item.Ref, item.Kind) && c.meansAll(owners) && c.Path.Means(item.Object.Object, path)
	})
	if i < 0 {
		return Choice{}, false
	}
	return choices[i], true
}

// Locator finds a manifest's field in its file. It returns the field's place and its value as
// written, unquoted; or the given place and no value if it does not find the field.
type Locator func(at object.Source, steps []any) (object.Source, string)

// Adopts reports whether managed fields must change before the apply: to adopt fields of other
// managers, or to claim leftovers without owners.
func (p *Prediction) Adopts() bool { return p.Adoption.Needed() }

// adopted reports whether the adoption resolves the conflict: every owner of the path is adopted.
func (p *Prediction) adopted(c managedfields.Conflict) bool {
	for _, owner := range c.Owners {
		if !slices.Contains(p.Adoption.Adopted, owner) {
			return false
		}
	}
	return len(c.Owners) > 0
}

// carry returns the item with the Carry label if we own it on the live object, because the apply
// would remove it otherwise.
func (p Predictor) carry(item plan.Item, live *unstructured.Unstructured, adopted []managedfields.Owner) (plan.Item, error) {
	value, labelled := live.GetLabels()[p.Carry]
	if p.Carry == "" || !labelled {
		return item, nil
	}
	if _, stated := item.Object.GetLabels()[p.Carry]; stated {
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
