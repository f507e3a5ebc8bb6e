package noop

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// changes reports whether an apply certainly changes values or owners. A zero or empty value is never
// certain: the server may read it as "not set" and store a default. Nor is a value that the object
// lacks although our entry has it, or that it has although our entry lacks it: the server drops some
// values, and some kinds' fields from each entry. Nor are items beside ours in an atomic list, which
// admission may have added.
func (j *evaluation) changes() bool { return j.differs(differ{values: true}) }

// OnlyValues reports whether an apply whose verdict is [Clear] changes nothing but values of fields
// that the manager has applied before. If admission rewrites these values in each apply, it changes
// nothing at all.
func OnlyValues(live, manifest *unstructured.Unstructured, manager string) bool {
	if live == nil || manifest == nil {
		return false
	}
	j := evaluation{live: live.Object, manifest: manifest.Object, manager: manager}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return false
	}
	j.setEntries(entries)
	return !j.differs(differ{})
}

// differ finds certain changes. Without values, it finds only changes of owners.
type differ struct{ values bool }

func (j *evaluation) differs(d differ) bool {
	found := false
	if j.ours.Empty() && len(j.others) > 0 { // our first apply, unless nothing in the manifest has an owner
		j.declared(func(name string, v any, inMetadata bool) bool {
			found = (inMetadata || name != "status") && filled(v)
			return !found
		})
		return found
	}
	j.declared(func(name string, v any, inMetadata bool) bool {
		live, set := j.live, j.ours
		if inMetadata {
			pe := fieldpath.FieldElement("metadata")
			live, _ = j.live["metadata"].(map[string]any)
			set, _ = fieldpath.Below(j.ours, pe)
		} else if name == "status" {
			return true // The server may ignore it.
		}
		found = d.field(name, v, live, set)
		return !found
	})
	if found {
		return true
	}
	fieldpath.Each(j.ours, func(p fieldpath.Path) { found = found || !mayState(j.manifest, p) })
	return found
}

func (d differ) field(name string, v any, live map[string]any, set *fieldpath.Set) bool {
	pe := fieldpath.Element{FieldName: &name}
	member, child := below(set, pe)
	return d.value(v, fieldpath.FieldOf(live, name), member, child)
}

func below(set *fieldpath.Set, pe fieldpath.Element) (member bool, child *fieldpath.Set) {
	if set == nil {
		return false, nil
	}
	child, _ = fieldpath.Below(set, pe)
	return set.Members.Has(pe), child
}

// value reports whether an apply of v certainly changes the value or its owners. member means that our entry
// has the path itself; child contains our fields below it.
func (d differ) value(v any, live fieldpath.Optional, member bool, child *fieldpath.Set) bool {
	if isZero(v) {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		lm, isMap := live.Value.(map[string]any)
		if !isMap || member && child == nil {
			return d.whole(v, live, member || child != nil)
		}
		for name, field := range v {
			if d.field(name, field, lm, child) {
				return true
			}
		}
		return false
	case []any:
		ll, isList := live.Value.([]any)
		if !isList || child == nil {
			return d.whole(v, live, member || child != nil)
		}
		return d.items(v, ll, child)
	}
	if !live.Has || live.Value == nil {
		return !member && child == nil
	}
	isOurs := member || child != nil
	return (d.values || !isOurs) && !fieldpath.Equal(v, live.Value) && !sameSpelling(v, live.Value)
}

// whole is for a value that is not compared part by part.
func (d differ) whole(v any, live fieldpath.Optional, isOurs bool) bool {
	if live.Value == nil {
		return !isOurs && filled(v)
	}
	return (d.values || !isOurs) && !MayComplete(v, live.Value)
}

// MayComplete reports whether the live value may be the declared one: equal, or another spelling of it, with
// defaults, with items that admission added, and without fields that the server does not know.
func MayComplete(v, live any) bool {
	if isZero(v) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		lm, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for name, field := range v {
			if l := lm[name]; l != nil && !MayComplete(field, l) {
				return false
			}
		}
		return true
	case []any:
		ll, ok := live.([]any)
		if !ok || len(ll) < len(v) {
			return false
		}
		for i := range v {
			if !MayComplete(v[i], ll[i]) {
				return false
			}
		}
		return true
	}
	return fieldpath.Equal(v, live) || sameSpelling(v, live)
}

func (d differ) items(list, live []any, set *fieldpath.Set) bool {
	x := fieldpath.ItemsOf(set)
	for _, item := range list {
		if !filled(item) {
			continue
		}
		pe, ok := x.Identify(item, func(fieldpath.Element) bool { return true })
		if !ok {
			if _, complete, valid := x.Element(item); valid && complete && len(x.Possible(item)) == 0 {
				return true // We do not own the item yet.
			}
			continue
		}
		at := fieldpath.Optional{}
		if i := x.Find(live, pe); i >= 0 {
			at = fieldpath.Present(live[i])
		}
		member, child := below(set, pe)
		if d.value(item, at, member, child) {
			return true
		}
	}
	return false
}

// filled reports whether a value contains a scalar that is not zero.
func filled(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if filled(field) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, filled)
	}
	return !isZero(v)
}

// mayState reports whether the manifest may set the path. A list item that omits part of its key may
// be any item with the rest of the key.
func mayState(v any, p fieldpath.Path) bool {
	if len(p) == 0 {
		return true
	}
	if m, ok := v.(map[string]any); ok && p[0].FieldName != nil {
		field, has := m[*p[0].FieldName]
		if !has {
			return false
		}
		return mayState(field, p[1:])
	}
	list, ok := v.([]any)
	if !ok {
		return isZero(v)
	}
	x := fieldpath.ItemsNamed(p[0])
	for _, item := range list {
		if x.Match(item, p[0]) == fieldpath.NoMatch {
			continue
		}
		// A key field belongs to the item even if the manifest omits it.
		if len(p) == 2 && p[1].FieldName != nil && x.IsKey(*p[1].FieldName) || mayState(item, p[1:]) {
			return true
		}
	}
	return false
}

// sameSpelling reports whether two values may be spellings of one quantity, number or time.
func sameSpelling(a, b any) bool {
	if sameQuantity(a, b) || sameQuantity(b, a) {
		return true
	}
	x, isText := a.(string)
	y, isTextToo := b.(string)
	if !isText || !isTextToo {
		return false
	}
	t, err := time.Parse(time.RFC3339, x)
	if err != nil {
		return false
	}
	u, err := time.Parse(time.RFC3339, y)
	return err == nil && t.Equal(u)
}
