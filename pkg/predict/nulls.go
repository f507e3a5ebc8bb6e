package predict

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// withoutNulls returns the manifest without the nulls that the server reads as "not set". The
// server merges a manifest before it decodes the result into Go types and sets defaults. So a null
// that is sent would differ from the live value in each run, and a list item whose key field is null
// or empty would be added again in each run.
//
// In Kubernetes' own kinds, and in CRDs outside their schemas, a null field means that the field is not set, a null text in a map or
// list means "", and so does the empty key field of a list item if the key has a default. A null
// stays if another manager owns the field and the live object has a value there: it asks for the
// removal of that value. In custom resources, a null may be a value, but not as part of a key.
func (p Predictor) withoutNulls(item plan.Item, live *unstructured.Unstructured, adopted []managedfields.Owner) (*unstructured.Unstructured, error) {
	u := item.Object
	if !hasUnset(u.Object, false) { // Most manifests: neither the types nor the owners are needed.
		return u, nil
	}
	var sets []*fieldpath.Set
	var there any
	if live != nil {
		there = live.Object
		entries, err := managedfields.Entries(live)
		if err != nil {
			return u, err
		}
		for _, e := range managedfields.Others(entries, p.Manager) {
			if !slices.Contains(adopted, e.Owner) {
				sets = append(sets, e.Fields)
			}
		}
	}
	if known := p.typeOf(item.Kind); known != nil && openapi.IsBuiltIn(known) {
		return without(u, there, nulls{builtIn: true}, known, sets), nil
	}
	// All kinds share the type of their metadata.
	if known := p.typeOf(object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}); known != nil {
		u = without(u, there, nulls{builtIn: true}, onlyMetadata{known}, sets)
	}
	if types := p.schemaOf(item); types != nil {
		switch {
		case unsetInDefinition(u):
			u = without(u, there, nulls{builtIn: true}, types(), sets)
		case nullInItem(u.Object, false):
			u = without(u, there, nulls{}, types(), sets)
		}
	}
	return u, nil
}

func without(u *unstructured.Unstructured, live any, n nulls, t openapi.Type, sets []*fieldpath.Set) *unstructured.Unstructured {
	out, changed := n.value(u.Object, live, t, sets, nil)
	object, isMap := out.(map[string]any)
	if !changed || !isMap {
		return u
	}
	return &unstructured.Unstructured{Object: object}
}

// onlyMetadata knows only the metadata of a kind.
type onlyMetadata struct{ openapi.Type }

func (t onlyMetadata) Property(name string) openapi.Type {
	if name != "metadata" {
		return nil
	}
	return t.Type.Property(name)
}

// definitionSchema is the prefix of the names of the types in a CRD's schema.
const definitionSchema = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"

// unsetInDefinition reports whether a field of a CRD is null, outside its versions.
func unsetInDefinition(u *unstructured.Unstructured) bool {
	if u.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
		return false
	}
	spec, _ := u.Object["spec"].(map[string]any)
	for name, v := range spec {
		if name != "versions" && hasUnset(v, false) {
			return true
		}
	}
	return false
}

type nulls struct {
	builtIn bool
}

// value returns the value without its nulls. live is the value in the cluster, nil if unknown. sets
// contains the fields of other managers. keys names the key fields if the value is an item of a list.
func (n nulls) value(v, live any, t openapi.Type, sets []*fieldpath.Set, keys []string) (any, bool) {
	if t == nil || strings.HasPrefix(t.Name(), definitionSchema) {
		return v, false // In a CRD's schema, a null can be a default or an example.
	}
	switch v := v.(type) {
	case map[string]any:
		there, _ := live.(map[string]any)
		return n.fields(v, there, t, sets, keys)
	case []any:
		there, _ := live.([]any)
		return n.items(v, there, t, sets)
	}
	return v, false
}

// fields leaves a null where it would have an effect: where another manager holds a value that it would
// remove, and in a custom resource, where it can be a value. In a map of texts, it is an empty text.
func (n nulls) fields(m, live map[string]any, t openapi.Type, sets []*fieldpath.Set, keys []string) (any, bool) {
	var out map[string]any
	edit := func() map[string]any {
		if out == nil {
			out = maps.Clone(m)
		}
		return out
	}
	for name, v := range m {
		field := t.Property(name)
		inMap := field == nil
		if inMap {
			field, _ = t.Values()
		}
		if field == nil {
			continue
		}
		pe := fieldpath.Element{FieldName: &name}
		below := fieldpath.BelowEach(sets, pe)
		held := len(below) > 0 || slices.ContainsFunc(sets, func(s *fieldpath.Set) bool { return s.Members.Has(pe) })
		switch {
		case slices.Contains(keys, name) && n.isUnsetKey(v, field):
			delete(edit(), name)
		case v == nil && !n.builtIn:
		case v == nil && inMap:
			if isText(field) {
				edit()[name] = ""
			}
		case v == nil:
			if !held || live != nil && live[name] == nil {
				delete(edit(), name)
			}
		default:
			if changed, is := n.value(v, live[name], field, below, nil); is {
				edit()[name] = changed
			}
		}
	}
	if out == nil {
		return m, false
	}
	return out, true
}

// isUnsetKey reports whether the server replaces a key field's value with the key's default, but
// only after it has merged the list by the value that was sent.
func (n nulls) isUnsetKey(v any, field openapi.Type) bool {
	return field.Default() != nil && (v == nil || n.builtIn && v == "")
}

// items finds the counterpart of each item in the live list by its keys. Without keys, an item has no
// counterpart, and its nulls are treated as in a new object.
func (n nulls) items(list, live []any, t openapi.Type, sets []*fieldpath.Set) (any, bool) {
	items := openapi.Items(t)
	if items == nil {
		return list, false
	}
	keys := keysOf(t)
	x := fieldpath.ItemsOf(sets...)
	var out []any
	for i, v := range list {
		var below []*fieldpath.Set
		var there any
		if len(x.Names()) > 0 {
			if pe, ok := x.Identify(v, func(fieldpath.Element) bool { return true }); ok {
				below = fieldpath.BelowEach(sets, pe)
				if at := slices.IndexFunc(live, func(l any) bool { return x.Match(l, pe) == fieldpath.Exact }); at >= 0 {
					there = live[at]
				}
			}
		}
		changed, is := n.value(v, there, items, below, keys)
		if v == nil && n.builtIn && isText(items) {
			changed, is = "", true
		}
		if !is {
			continue
		}
		if out == nil {
			out = slices.Clone(list)
		}
		out[i] = changed
	}
	if out == nil {
		return list, false
	}
	return out, true
}

// keysOf returns the key fields of a list's items.
func keysOf(list openapi.Type) []string {
	if list == nil {
		return nil
	}
	var names []string
	switch keys := list.Extension("x-kubernetes-list-map-keys").(type) {
	case []any:
		for _, key := range keys {
			if name, ok := key.(string); ok {
				names = append(names, name)
			}
		}
	case []string:
		return keys
	}
	return names
}

func isText(t openapi.Type) bool { return slices.Equal(t.Kinds(), []string{"string"}) }

// hasUnset reports whether the value contains a null, or an empty text in a list item, which may be a
// part of its key.
func hasUnset(v any, inItem bool) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == "" && inItem
	case map[string]any:
		for _, field := range v {
			if hasUnset(field, inItem) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return hasUnset(item, true) })
	}
	return false
}

// nullInItem reports whether a list item in the value has a null field.
func nullInItem(v any, inItem bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if field == nil && inItem || field != nil && nullInItem(field, false) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return nullInItem(item, true) })
	}
	return false
}
