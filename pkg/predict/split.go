package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// A CRD can change a list or map from atomic to granular. Then the API server treats an entry that
// contains the whole value as if it contained none of its items. So an apply that lacks one of them
// would leave it, without an owner.
// https://github.com/kubernetes-sigs/structured-merge-diff/blob/master/typed/reconcile_schema.go

// orphaned returns the items and keys that our entry contained as a part of a whole value, and that
// have no owner once the apply has split that value. answer is the response to the apply or its dry run.
func (p Predictor) orphaned(in *Prediction, answer *unstructured.Unstructured) ([]fieldpath.Path, error) {
	before, err := managedfields.Entries(in.Live)
	if err != nil {
		return nil, err
	}
	after, err := managedfields.Entries(answer)
	if err != nil {
		return nil, err
	}
	held, now := managedfields.Managed(before, p.Manager), managedfields.Managed(after, p.Manager)
	for _, e := range before {
		if slices.ContainsFunc(in.Adoption.Adopted, e.Equal) {
			held = held.Union(e.Fields)
		}
	}
	typeAt := func(fieldpath.Path) openapi.Type { return nil }
	if fetch := p.schemaOf(in.Item); fetch != nil {
		types := openapi.Schema{Fetch: fetch}
		typeAt = func(path fieldpath.Path) openapi.Type { return types.At(path) }
	}
	var out []fieldpath.Path
	fieldpath.Each(held.Leaves(), func(path fieldpath.Path) {
		value, _ := path.Get(answer.Object)
		items := fieldpath.ItemsKeyed(keysOf(typeAt(path)))
		if split := setBelow(now, path); split != nil {
			items = fieldpath.ItemsOf(split)
		} else if !emptied(path, in.Body, value, now) {
			return
		}
		for _, pe := range elements(value, items) {
			if item := path.Child(pe); len(managedfields.HoldersOf(after, item)) == 0 && (pe.FieldName == nil || isKey(typeAt(path), *pe.FieldName)) {
				out = append(out, item)
			}
		}
	})
	return out, nil
}

func setBelow(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, pe := range path {
		if set, _ = fieldpath.Below(set, pe); set == nil {
			return nil
		}
	}
	return set
}

// emptied reports whether the body empties a list that is granular now: its items stay, and our entry does
// not contain the list. It is not known of a map: {} is in our entry, also if the map was granular when it was
// applied, and the map then has the keys of others, of admission and of defaults.
func emptied(path fieldpath.Path, body *unstructured.Unstructured, stored any, now *fieldpath.Set) bool {
	declared, _ := path.Get(body.Object)
	list, isList := declared.([]any)
	return isList && len(list) == 0 && fieldpath.IsFilled(stored) && !fieldpath.Has(now, path)
}

// isKey reports whether a field is a key of a map. An entry that contains an object as a whole may also have
// set it to {}; then a declared field without an owner is the server's default.
func isKey(t openapi.Type, field string) bool {
	if t == nil || t.Property(field) != nil {
		return false
	}
	_, open := t.Values()
	return open
}

// elements returns the elements of a list or map.
func elements(value any, items fieldpath.Items) []fieldpath.Element {
	var out []fieldpath.Element
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			out = append(out, fieldpath.FieldElement(name))
		}
	case []any:
		for _, item := range value {
			if pe, complete, ok := items.Element(item); ok && complete {
				out = append(out, pe)
			}
		}
	}
	slices.SortFunc(out, fieldpath.Element.Compare)
	return out
}

// maySplit reports whether our entry contains a list or map as a whole of which the body lacks a part.
// Only a dry run shows whether the apply removes that part.
func (p Predictor) maySplit(in *Prediction) bool {
	entries, err := managedfields.Entries(in.Live)
	if err != nil {
		return false
	}
	found := false
	fieldpath.Each(managedfields.Managed(entries, p.Manager).Leaves(), func(path fieldpath.Path) {
		live, _ := path.Get(in.Live.Object)
		declared, isDeclared := path.Get(in.Body.Object)
		found = found || isDeclared && fieldpath.IsContainer(live) && fieldpath.IsContainer(declared) && !fieldpath.IsEmpty(declared) &&
			!fieldpath.Equal(live, declared)
	})
	return found
}
