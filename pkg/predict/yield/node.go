package yield

import (
	"maps"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

type node struct {
	pe             fieldpath.Element
	declared, live fieldpath.Optional
	// ours contains our paths below this one. oursHere means that we own this path itself.
	ours     *fieldpath.Set
	oursHere bool
	others   []holder
	// atomic means that the value is inside an atomic value.
	atomic bool
	path   fieldpath.Path
	types  *openapi.Schema
}

// holder contains the paths that other managers own at one API version. The server merges each
// version separately: an owner at one version does not protect the parent of a path that is owned
// at another version.
type holder struct {
	version string
	here    bool
	below   []*fieldpath.Set
}

func holdersOf(entries []managedfields.Entry) []holder {
	var out []holder
	for _, e := range entries {
		i := slices.IndexFunc(out, func(h holder) bool { return h.version == e.APIVersion })
		if i < 0 {
			i = len(out)
			out = append(out, holder{version: e.APIVersion})
		}
		out[i].below = append(out[i].below, e.Fields)
	}
	return out
}

func (n node) child(pe fieldpath.Element, declared, live fieldpath.Optional) node {
	next := node{pe: pe, declared: declared, live: live, atomic: n.atomic || n.isWhole(), path: n.path.Child(pe), types: n.types}
	if n.ours != nil {
		next.oursHere = n.ours.Members.Has(pe)
		next.ours, _ = fieldpath.Below(n.ours, pe)
	}
	for _, h := range n.others {
		at := holder{version: h.version}
		at.here = slices.ContainsFunc(h.below, func(s *fieldpath.Set) bool { return s.Members.Has(pe) })
		if at.below = fieldpath.BelowEach(h.below, pe); at.here || len(at.below) > 0 {
			next.others = append(next.others, at)
		}
	}
	return next
}

func (n node) sets() []*fieldpath.Set {
	var out []*fieldpath.Set
	for _, h := range n.others {
		out = append(out, h.below...)
	}
	if n.ours != nil {
		out = append(out, n.ours)
	}
	return out
}

func (n node) isWhole() bool {
	here := n.oursHere || slices.ContainsFunc(n.others, func(h holder) bool { return h.here })
	return here && n.shape() == fieldpath.Leaf
}

func (n node) shape() fieldpath.Shape { return fieldpath.ShapeOf(n.sets()...) }

// isOurs reports whether the server may remove the path if the manifest lacks it.
func (n node) isOurs() bool { return n.oursHere || n.ours != nil }

// isKept reports whether other managers prevent the server from removing the path. An owner of
// something below the path also does so, unless our set contains the path itself. In that case,
// others must own the path itself at each API version at which they own anything in it.
func (n node) isKept() bool {
	return len(n.others) > 0 && (!n.oursHere || !slices.ContainsFunc(n.others, func(h holder) bool { return !h.here }))
}

// valueAt yields a path (rest) that is relative to the node. It returns the node's new value in the
// manifest, whether the manifest must keep this value, and whether the manifest sets the path.
func (n node) valueAt(rest fieldpath.Path) (v any, keep, found bool) {
	if len(rest) == 0 {
		v, keep = n.yield()
		return v, keep, true
	}
	pe := rest[0]
	switch v := n.declared.Value.(type) {
	case map[string]any:
		if pe.FieldName == nil {
			break
		}
		name := *pe.FieldName
		next, keep, found := n.child(pe, fieldpath.FieldOf(v, name), fieldpath.FieldOf(n.live.Value, name)).valueAt(rest[1:])
		if !found {
			return v, true, false
		}
		if keep {
			v[name] = next
		} else {
			delete(v, name)
		}
		if len(v) == 0 && n.pe.Key != nil { // The whole key came from defaults.
			v = fieldpath.KeyOf(n.pe)
		}
		return v, len(v) > 0 || n.staysEmpty(), true
	case []any:
		i := n.declaredItem(v, pe, fieldpath.ItemsNamed(pe))
		if i < 0 {
			break
		}
		live := fieldpath.Optional{}
		if list, ok := n.live.Value.([]any); ok {
			if at := fieldpath.Find(list, pe); at >= 0 {
				live = fieldpath.Present(list[at])
			}
		}
		next, keep, found := n.child(pe, fieldpath.Present(v[i]), live).valueAt(rest[1:])
		if !found {
			return v, true, false
		}
		if keep {
			v[i] = next
		} else {
			v = slices.Delete(v, i, i+1)
		}
		return v, len(v) > 0 || n.staysEmpty(), true
	}
	return n.declared.Value, true, false
}

// staysEmpty reports whether the manifest must keep a map or list that has become empty, because
// the server would otherwise remove live fields in it. If no live fields remain, the manifest must
// not keep it: the server would turn the empty value into null, and refuse the object.
func (n node) staysEmpty() bool {
	switch {
	case !fieldpath.IsContainer(n.live.Value):
		return false
	case n.atomic || n.isWhole():
		return true
	case n.pe.Key != nil:
		return !n.othersHoldItem()
	default:
		return n.isOurs() && !n.isKept() && n.leavesSomething()
	}
}

func (n node) leavesSomething() bool {
	return fieldpath.IsEmpty(n.live.Value) || n.ours == nil || len(n.others) > 0 || !fieldpath.HoldsAll(n.ours, n.live.Value)
}

// declaredItem returns the index of the manifest's item that matches the element, or -1. An item that
// omits a field of its key matches only if the server's default for the field equals the element's
// value. If we own the item but not the field, the server filled in that default earlier. If we own
// the field, too, the schema decides.
func (n node) declaredItem(list []any, pe fieldpath.Element, x fieldpath.Items) int {
	i := x.Find(list, pe)
	if i < 0 || x.Match(list[i], pe) == fieldpath.Exact || n.ours == nil {
		return i
	}
	child, held := fieldpath.Below(n.ours, pe)
	if !held {
		return i
	}
	if slices.ContainsFunc(fieldpath.Unproven(list[i], pe, child), func(name string) bool { return !n.defaultsTo(pe, name) }) {
		return -1
	}
	return i
}

func (n node) defaultsTo(pe fieldpath.Element, name string) bool {
	field := openapi.Field(n.types.At(n.path.Child(pe)), name)
	want, _ := fieldpath.KeyField(pe, name)
	return field != nil && field.Default() != nil && fieldpath.Equal(field.Default(), want)
}

// yield returns the value that preserves the live one, and whether the manifest must set a value at
// all.
func (n node) yield() (any, bool) {
	shape := n.shape()
	switch live := n.live.Value.(type) {
	case map[string]any:
		if shape == fieldpath.Fields && !n.atomic {
			return n.fields(live)
		}
	case []any:
		if (shape == fieldpath.Keyed || shape == fieldpath.Values) && !n.atomic {
			return n.items(live)
		}
	}
	switch {
	case !n.live.Has:
		return nil, false
	case !n.atomic && n.isKept():
		return nil, false
	default:
		return fieldpath.Clone(n.live.Value), true
	}
}

// fields returns the fields of a map that the manifest must set, and whether it must set the map at
// all. If the map is a list item, its key stays in the manifest if another field of the item stays,
// or if no one else owns the key. Otherwise the item would become invalid if another manager owned
// only one of its fields, as after "kubectl set image".
func (n node) fields(live map[string]any) (any, bool) {
	declared, _ := n.declared.Value.(map[string]any)
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if n.pe.Key != nil {
			if _, isKey := fieldpath.KeyField(n.pe, name); isKey {
				continue
			}
		}
		next := n.child(fieldpath.FieldElement(name), fieldpath.FieldOf(declared, name), fieldpath.FieldOf(live, name))
		if !next.declared.Has && !next.isOurs() {
			continue // An apply cannot change the field.
		}
		if v, keep := next.yield(); keep {
			out[name] = v
		}
	}
	if len(out) == 0 && !n.staysEmpty() {
		return nil, false
	}
	if n.pe.Key != nil {
		for name, v := range fieldpath.KeyOf(n.pe) {
			if _, message := declared[name]; message || !n.isDefault(name) {
				out[name] = v
			}
		}
	}
	return out, true
}

// isDefault reports whether the manifest leaves a key field to the server, as it did at the last
// apply.
func (n node) isDefault(name string) bool {
	return n.declared.Has && n.oursHere && (n.ours == nil || !n.ours.Members.Has(fieldpath.FieldElement(name)))
}

// items returns the list items that the manifest must contain, in the live order, and whether it
// must set the list at all. If the server would remove the list together with our items, the
// manifest must contain all items.
func (n node) items(live []any) (any, bool) {
	declared, _ := n.declared.Value.([]any)
	x := fieldpath.ItemsOf(n.sets()...)
	out := make([]any, 0, len(live))
	for _, item := range live {
		pe, _, ok := x.Element(item)
		if !ok {
			return fieldpath.Clone(live), true
		}
		next := n.child(pe, fieldpath.Optional{}, fieldpath.Present(item))
		if i := n.declaredItem(declared, pe, x); i >= 0 {
			next.declared = fieldpath.Present(declared[i])
		}
		if !next.declared.Has && !next.isOurs() && (len(next.others) > 0 || n.isKept()) {
			continue
		}
		if v, keep := next.yield(); keep {
			out = append(out, v)
		}
	}
	return out, len(out) > 0 || n.staysEmpty()
}

// othersHoldItem reports whether other managers own a list item. At each API version at which they
// own anything in the item, one of them must own the item itself or its whole key.
func (n node) othersHoldItem() bool {
	return len(n.others) > 0 && !slices.ContainsFunc(n.others, func(h holder) bool {
		return !h.here && !slices.ContainsFunc(h.below, n.hasKey)
	})
}

func (n node) hasKey(s *fieldpath.Set) bool {
	return !slices.ContainsFunc(fieldpath.KeyNames(n.pe), func(name string) bool {
		return !s.Members.Has(fieldpath.FieldElement(name))
	})
}
