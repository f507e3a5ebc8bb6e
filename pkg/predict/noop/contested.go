package noop

import (
	"reflect"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// contested returns the conflicts, certain or merely possible, that managed fields reveal.
func (j *evaluation) contested() (Verdict, []managedfields.Conflict) {
	clear := j.oneVersion
	var c contest
	others := make([]managedfields.Entry, 0, len(j.others))
	sets := make([]*fieldpath.Set, 0, len(j.others))
	for _, e := range j.others {
		if e.APIVersion == j.manifest["apiVersion"] { // Other versions cannot be compared (edge case 7).
			others = append(others, e)
			sets = append(sets, e.Fields)
		}
	}
	meta := fieldpath.FieldElement("metadata")
	live, _ := j.live["metadata"].(map[string]any)
	metaOurs, _ := fieldpath.Below(j.ours, meta)
	metaSets := fieldpath.BelowEach(sets, meta)
	j.declared(func(name string, v any, inMetadata bool) bool {
		switch {
		case inMetadata:
			c.field(fieldpath.Path{meta}, name, v, live, metaOurs, metaSets)
		case name == "stringData" && j.isSecret():
			clear = false // stringData would overwrite data regardless of its owner.
		default:
			certain := c.certain
			c.field(nil, name, v, j.live, j.ours, sets)
			if name == "status" || name == "data" && j.isSecret() {
				c.certain = certain // The server may drop a status, and does not protect the stringData of other managers.
			}
		}
		return true
	})
	for i := range c.found {
		c.found[i].Owners = managedfields.HoldersOf(others, c.found[i].Path)
	}
	managedfields.SortConflicts(c.found)
	switch {
	case c.certain && !j.rewritesLastApplied(): // The server ignores conflicts over values that kubectl last applied.
		return Contested, c.found
	case clear && len(c.found) == 0 && j.changes():
		return Clear, nil
	}
	return Doubtful, c.found
}

type contest struct {
	found   []managedfields.Conflict
	certain bool
}

func (c *contest) field(path fieldpath.Path, name string, v any, live map[string]any, ours *fieldpath.Set, sets []*fieldpath.Set) {
	if len(sets) == 0 {
		return
	}
	c.child(path, fieldpath.Element{FieldName: &name}, v, fieldpath.FieldOf(live, name), ours, sets)
}

func (c *contest) child(path fieldpath.Path, pe fieldpath.Element, v any, live fieldpath.Optional, ours *fieldpath.Set, sets []*fieldpath.Set) {
	held := slices.ContainsFunc(sets, func(s *fieldpath.Set) bool { return s.Members.Has(pe) })
	sets = fieldpath.BelowEach(sets, pe)
	if ours != nil {
		ours, _ = fieldpath.Below(ours, pe)
	}
	if !held && len(sets) == 0 {
		return // No one else owns anything here or below.
	}
	path = path.Child(pe)
	switch v := v.(type) {
	case map[string]any:
		if lm, ok := live.Value.(map[string]any); ok && fieldpath.ShapeOf(with(sets, ours)...) == fieldpath.Fields {
			for name, v := range v {
				c.field(path, name, v, lm, ours, sets)
			}
			return
		}
	case []any:
		if ll, ok := live.Value.([]any); ok && c.items(path, v, ll, ours, sets) {
			return
		}
	}
	if !live.Has || !fieldpath.Equal(v, live.Value) {
		c.found = append(c.found, managedfields.Conflict{Path: path, Yours: v, Live: live.Value, HasLive: live.Has})
		c.certain = c.certain || held && sameScalar(v, live.Value)
	}
}

// sameScalar reports whether both values are numbers, or scalars of the same type other than null.
// If one of them is valid, the server also accepts the other.
func sameScalar(a, b any) bool {
	_, aNumber := fieldpath.AsFloat(a)
	_, bNumber := fieldpath.AsFloat(b)
	return aNumber && bNumber || !fieldpath.IsContainer(a) && a != nil && reflect.TypeOf(a) == reflect.TypeOf(b)
}

// items evaluates a list item by item. It returns false unless the list's items are owned
// individually and have distinct keys.
func (c *contest) items(path fieldpath.Path, list, live []any, ours *fieldpath.Set, sets []*fieldpath.Set) bool {
	all := with(sets, ours)
	if s := fieldpath.ShapeOf(all...); s != fieldpath.Keyed && s != fieldpath.Values {
		return false
	}
	x := fieldpath.ItemsOf(all...)
	if !x.Distinct(live) {
		return false
	}
	for _, item := range list {
		pe, complete, ok := x.Element(item)
		if !ok {
			return false
		}
		certain := c.certain
		identified := c.item(path, pe, item, live, x, ours, sets)
		if complete {
			c.certain = certain || c.certain && identified
			continue
		}
		// With its defaults, the item may have the key of any of these elements.
		for _, pe := range x.Possible(item) {
			c.item(path, pe, item, live, x, ours, sets)
		}
		c.certain = certain
	}
	return true
}

// item compares an item of the manifest with the live item that the given element identifies. It
// returns false if the server might identify a different live item, because a field that the
// manifest sets and the live item lacks may be part of the key.
func (c *contest) item(path fieldpath.Path, pe fieldpath.Element, item any, live []any, x fieldpath.Items, ours *fieldpath.Set, sets []*fieldpath.Set) bool {
	at := fieldpath.Optional{}
	if i := slices.IndexFunc(live, func(v any) bool { return x.Match(v, pe) == fieldpath.Exact }); i >= 0 {
		at = fieldpath.Present(live[i])
	}
	c.child(path, pe, item, at, ours, sets)
	declared, _ := item.(map[string]any)
	for name, v := range declared {
		if !fieldpath.IsContainer(v) && !fieldpath.FieldOf(at.Value, name).Has {
			return false
		}
	}
	return true
}

func with(sets []*fieldpath.Set, ours *fieldpath.Set) []*fieldpath.Set {
	if ours == nil {
		return sets
	}
	return append(slices.Clip(sets), ours)
}
