package rollouts

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// compare returns the changes that turn one template into another, sorted by path. Applied in
// order, they yield exactly the second template: additions go to the end of their list, and a list
// whose items are then in another order has one more change, with all keys in both orders.
func compare(path fieldpath.Path, before, after any) []managedfields.Change {
	c := comparer{}
	c.values(path, before, after)
	slices.SortStableFunc(c.changes, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	return append(c.changes, c.orders...)
}

type comparer struct {
	changes, orders []managedfields.Change
}

func (c *comparer) values(path fieldpath.Path, before, after any) {
	b, bMap := before.(map[string]any)
	a, aMap := after.(map[string]any)
	if bMap && aMap && len(b) > 0 && len(a) > 0 {
		c.maps(path, b, a)
		return
	}
	bl, bList := before.([]any)
	al, aList := after.([]any)
	if bList && aList && c.lists(path, bl, al) || fieldpath.Equal(before, after) {
		return
	}
	c.changes = append(c.changes, managedfields.Change{Path: path, From: before, To: after, Kind: managedfields.Changed})
}

func (c *comparer) maps(path fieldpath.Path, before, after map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		at := path.Child(fieldpath.FieldElement(name))
		if v, ok := after[name]; ok {
			c.values(at, before[name], v)
			continue
		}
		c.changes = append(c.changes, managedfields.Change{Path: at, From: before[name], Kind: managedfields.Removed})
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			c.changes = append(c.changes, managedfields.Change{Path: path.Child(fieldpath.FieldElement(name)), To: after[name], Kind: managedfields.Added})
		}
	}
}

// lists compares two lists item by item. It returns false if they have no keys, or not a distinct
// one for each item.
func (c *comparer) lists(path fieldpath.Path, before, after []any) bool {
	names := keysOf(path)
	was, ok := elements(before, names)
	if !ok || len(before) == 0 || len(after) == 0 {
		return false
	}
	is, ok := elements(after, names)
	if !ok {
		return false
	}
	var replayed []fieldpath.Element
	for i, pe := range was {
		j := slices.IndexFunc(is, pe.Equals)
		if j < 0 {
			c.changes = append(c.changes, managedfields.Change{Path: path.Child(pe), From: before[i], Kind: managedfields.Removed})
			continue
		}
		c.values(path.Child(pe), before[i], after[j])
		replayed = append(replayed, pe)
	}
	var added []managedfields.Change
	for j, pe := range is {
		if !slices.ContainsFunc(was, pe.Equals) {
			added = append(added, managedfields.Change{Path: path.Child(pe), To: after[j], Kind: managedfields.Added})
		}
	}
	slices.SortFunc(added, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	for _, change := range added {
		replayed = append(replayed, change.Path[len(change.Path)-1])
	}
	c.changes = append(c.changes, added...)
	if !slices.EqualFunc(replayed, is, fieldpath.Element.Equals) {
		c.orders = append(c.orders, managedfields.Change{
			Path: path, From: fieldpath.Keys(was), To: fieldpath.Keys(is), Kind: managedfields.Changed, Order: true,
		})
	}
	return true
}

// keysOf returns the fields that identify the items of a list in a PodTemplateSpec, as declared by
// x-kubernetes-list-map-keys in k8s.io/api/core/v1. All other lists are compared as a whole.
func keysOf(path fieldpath.Path) []string {
	if len(path) == 0 || path[len(path)-1].FieldName == nil {
		return nil
	}
	switch *path[len(path)-1].FieldName {
	case "containers", "initContainers", "ephemeralContainers", "volumes", "env", "imagePullSecrets", "resourceClaims", "claims", "schedulingGates":
		return []string{"name"}
	case "hostAliases":
		return []string{"ip"}
	case "ports":
		return []string{"containerPort", "protocol"}
	case "volumeMounts":
		return []string{"mountPath"}
	case "volumeDevices":
		return []string{"devicePath"}
	case "topologySpreadConstraints":
		return []string{"topologyKey", "whenUnsatisfiable"}
	}
	return nil
}

// elements returns the elements of a list's items. It returns false if an item lacks a part of its
// key, or if two items have the same one; the API server accepts both in an update.
func elements(list []any, names []string) ([]fieldpath.Element, bool) {
	if names == nil {
		return nil, false
	}
	out := make([]fieldpath.Element, len(list))
	for i, item := range list {
		fields, _ := item.(map[string]any)
		parts := make([]string, len(names))
		for n, name := range names {
			v, has := fields[name]
			key, err := json.Marshal(v)
			if !has || err != nil {
				return nil, false
			}
			parts[n] = name + "=" + string(key)
		}
		pe, rest, ok := fieldpath.ParseItem("[" + strings.Join(parts, ",") + "]")
		if !ok || rest != "" || slices.ContainsFunc(out[:i], pe.Equals) {
			return nil, false
		}
		out[i] = pe
	}
	return out, true
}
