package predict

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// Same reports whether two answers about one object have the same content and the same
// owners, whenever these last wrote.
func Same(a, b *unstructured.Unstructured) bool {
	return sameContent(a, b) && managedfields.SameOwners(a, b)
}

func sameContent(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(content(a), content(b))
}

// content returns an object without the server's own bookkeeping.
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

// NoChange reports whether the server's answer has the content and the owners of
// the live object, so that the apply need not be sent.
func (p *Prediction) NoChange() bool {
	return p.Live != nil && p.Answer != nil && !p.Adopts() && Same(p.Live, p.Answer)
}

// View is the managed projection of an object before and after an apply: both
// cut to the union of what the manager owned and what it owns then.
type View struct {
	Before, After map[string]any
	Set           *fieldpath.Set
}

// View returns the managed projection before and after the apply. Answer is the server's, to the
// apply itself or to a dry run; if it is nil, because the server could not be asked, the manifest
// takes its place. Adopted fields count as owned before.
func (p Predictor) View(in *Prediction, answer *unstructured.Unstructured) (View, error) {
	set, err := p.owned(answer)
	if err != nil {
		return View{}, err
	}
	set = set.Union(fieldpath.EmptyLists(in.Body.Object))
	var view View
	if in.Live != nil {
		before, err := p.owned(in.Live, in.Adoption.Adopted...)
		if err != nil {
			return View{}, err
		}
		set = set.Union(before).Union(in.Adoption.ClaimedSet())
		view.Before = managedfields.Project(in.Live.Object, set)
	}
	view.Set = set
	if answer == nil {
		view.After = stated(in.Body)
	} else {
		view.After = managedfields.Project(answer.Object, set)
	}
	return view, nil
}

// owned returns what the manager has applied of an object, and what the other
// owners named hold.
func (p Predictor) owned(u *unstructured.Unstructured, others ...managedfields.Owner) (*fieldpath.Set, error) {
	if u == nil {
		return &fieldpath.Set{}, nil
	}
	entries, err := managedfields.Entries(u)
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

// stated returns what a manifest states: everything except the object's identity.
func stated(manifest *unstructured.Unstructured) map[string]any {
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

// Changes returns what differs between both sides of the view.
func (v View) Changes() []managedfields.Change {
	return managedfields.Compare(v.Before, v.After, v.Set)
}

// Left returns what became of the paths that the manager owned and does not
// state any more: removed from the object, or released to others.
func (p Predictor) Left(in *Prediction, answer *unstructured.Unstructured) ([]managedfields.Change, error) {
	if in.Live == nil || answer == nil {
		return nil, nil
	}
	return adopt.Dropped(in.Live, answer, p.Manager, in.Adoption)
}
