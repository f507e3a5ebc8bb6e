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

// Server is the part of the API client that a prediction may need.
type Server interface {
	object.Applier
	Update(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error)
}

// Predictor predicts for one field manager and one set of choices.
type Predictor struct {
	// Manager is our field manager.
	Manager string
	// Take and Yield are the user's choices for this run.
	Take, Yield []Choice
	// Standing are choices that hold for many runs.
	Standing Standing
	// OnDecision is called with the effect of choices, each time that an object is evaluated; it
	// may be nil, and is called concurrently.
	OnDecision func(Decision)
	// Recreate are the objects to recreate if the manifest changes an immutable field.
	Recreate []Choice
	// AdoptFrom are the managers to adopt from, so that fields that are not in the manifest leave
	// the object.
	AdoptFrom adopt.From
	// Carry is a label that an apply keeps on an object although the manifest lacks it; empty for
	// none.
	Carry string
	// Validation is the server's field validation: Strict, Warn or Ignore.
	Validation string
	// Locate finds a field in the manifest's file; nil if there is none.
	Locate Locator
	// Known returns the type of a kind if it is known without its schema, else nil. It is called
	// concurrently; a nil func knows none.
	Known func(kind object.Kind) openapi.Type
	// Schema returns the schema by which the server reads a kind, nil if unknown. It is called if
	// the live object and known types leave a doubt that a schema may settle, and for a field that
	// the schema lacks. A nil func means that no schema is known.
	Schema func(kind object.Kind) openapi.Type
}

// Prediction is the predicted apply of one manifest.
type Prediction struct {
	Item plan.Item
	// Live is the live object; nil if there is none.
	Live *unstructured.Unstructured
	// Body is the manifest to send: without yielded fields, and in the live spelling where others
	// own the same value.
	Body *unstructured.Unstructured
	// Stated is the manifest without yielded fields, in its own spelling.
	Stated *unstructured.Unstructured
	// Verdict is the prediction from the live object alone.
	Verdict noop.Verdict
	// Adoption is the change of managed fields before the apply; mostly none.
	Adoption adopt.Adoption
	// Yielded are the paths that the user leaves to their owners; Left are values that something in
	// the cluster sets, and keeps.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict

	// Answer is the server's answer to a dry run; nil before Ask, and with Unchecked.
	Answer *unstructured.Unstructured
	// Unchecked is why the server cannot be asked about the object; empty if it can.
	Unchecked string
	// Conflicts have no decision; Taken are those that the user takes; Overwritten are values that
	// adopted managers set and the manifest changes. Empty before Ask.
	Conflicts, Taken, Overwritten []managedfields.Conflict
}

// knownOf returns the type of the item's kind if it is known without its schema; nil otherwise.
func (p Predictor) knownOf(item plan.Item) func() openapi.Type {
	if p.Known == nil {
		return nil
	}
	known := p.Known(item.Kind)
	if known == nil {
		return nil
	}
	return func() openapi.Type { return known }
}

// schemaOf returns a function that reads the schema of the item's kind; nil if none can.
func (p Predictor) schemaOf(item plan.Item) func() openapi.Type {
	if p.Schema == nil {
		return nil
	}
	return func() openapi.Type { return p.Schema(item.Kind) }
}

// taker returns the choice by which the user takes a path of the item, if there is one: choices of
// this run precede standing ones.
func (p Predictor) taker(item plan.Item, c managedfields.Conflict) (said, bool) {
	takes := func(choice Choice) bool { return choice.Names(item.Ref, item.Kind) && choice.settles(c) }
	if i := slices.IndexFunc(p.Take, takes); i >= 0 {
		return said{p.Take[i], "--take"}, true
	}
	if i := slices.IndexFunc(p.Standing.Take, takes); i >= 0 {
		return said{p.Standing.Take[i], p.Standing.Take[i].From}, true
	}
	return said{}, false
}

// takerByName returns the choice that takes this very path of the item. Only that overrides, for
// one run, what is otherwise always left to others: by the object's annotation, by a standing rule,
// or because something in the cluster sets it. A user who takes a parent of the path may not know
// that it is left.
func (p Predictor) takerByName(choices []Choice, item plan.Item, path fieldpath.Path, owners []managedfields.Owner) (Choice, bool) {
	i := slices.IndexFunc(choices, func(c Choice) bool {
		return len(c.Path) > 0 && c.Names(item.Ref, item.Kind) && c.meansAll(owners) && c.Path.Means(item.Object.Object, path)
	})
	if i < 0 {
		return Choice{}, false
	}
	return choices[i], true
}

// Locator finds a manifest's field in its file. It returns the field's source and its value as
// written, unquoted; or the given source and no value if it cannot find the field.
type Locator func(at object.Source, steps []any) (object.Source, string)

// Adopts reports whether fields must become ours before the apply: those of other managers, or
// leftovers without owners.
func (p *Prediction) Adopts() bool { return p.Adoption.Needed() }

// takesOver reports whether some of these fields are other managers'.
func (p *Prediction) takesOver() bool { return len(p.Adoption.Adopted) > 0 }

// adopted reports whether the conflict vanishes with the adoption because every owner of the path
// is adopted.
func (p *Prediction) adopted(c managedfields.Conflict) bool {
	for _, owner := range c.Owners {
		if !slices.Contains(p.Adoption.Adopted, owner) {
			return false
		}
	}
	return len(c.Owners) > 0
}

// carry returns the item with the label that stays on its object: the apply would remove it,
// because we own it and the manifest does not state it.
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
