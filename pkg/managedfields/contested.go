package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// contested returns the conflicts that an apply without force would meet, as
// far as the sets show them, and whether that is sure to be all. Where they
// leave room for doubt, it errs on the side of a conflict.
func (j *judge) contested() (conflicts []Conflict, sure bool) {
	c := contest{sure: j.oneVersion}
	others := make([]Entry, 0, len(j.others))
	sets := make([]*Set, 0, len(j.others))
	for _, e := range j.others {
		if e.APIVersion == j.manifest["apiVersion"] { // Others can not be compared (edge case 7).
			others = append(others, e)
			sets = append(sets, e.Fields)
		}
	}
	meta := fieldpath.FieldNameElement("metadata")
	live, _ := j.live["metadata"].(map[string]any)
	metaOurs, _ := below(j.ours, meta)
	metaSets := BelowEach(sets, meta)
	j.stated(func(name string, v any, inMetadata bool) bool {
		switch {
		case inMetadata:
			c.field(Path{meta}, name, v, live, metaOurs, metaSets)
		case name == "stringData" && j.isSecret():
			c.sure = false // It would overwrite data, whoever owns that.
		default:
			c.field(nil, name, v, j.live, j.ours, sets)
		}
		return true
	})
	for i := range c.found {
		c.found[i].Owners = HoldersOf(others, c.found[i].Path)
	}
	sortConflicts(c.found)
	return c.found, c.sure
}

type contest struct {
	found []Conflict
	sure  bool
}

func (c *contest) field(path Path, name string, v any, live map[string]any, ours *Set, sets []*Set) {
	if len(sets) == 0 {
		return
	}
	lv, has := live[name]
	c.child(path, fieldpath.PathElement{FieldName: &name}, v, side{lv, has}, ours, sets)
}

// child looks at the value at one element: at our set and those of others above
// it.
func (c *contest) child(path Path, pe fieldpath.PathElement, v any, live side, ours *Set, sets []*Set) {
	held := slices.ContainsFunc(sets, func(s *Set) bool { return s.Members.Has(pe) })
	sets = BelowEach(sets, pe)
	if ours != nil {
		ours, _ = below(ours, pe)
	}
	if !held && len(sets) == 0 {
		return // Nobody else holds anything here, nor below.
	}
	path = path.child(pe)
	switch v := v.(type) {
	case map[string]any:
		if lm, ok := live.value.(map[string]any); ok && shapeOf(with(sets, ours)...) == fields {
			for name, v := range v {
				c.field(path, name, v, lm, ours, sets)
			}
			return
		}
	case []any:
		if ll, ok := live.value.([]any); ok && c.items(path, v, ll, ours, sets) {
			return
		}
	}
	if !live.has || !equal(v, live.value) {
		c.found = append(c.found, Conflict{Path: path, Yours: v, Live: live.value, HasLive: live.has})
	}
}

// items looks at the items of a list. It tells whether the list is owned by
// item, with one item a key.
func (c *contest) items(path Path, list, live []any, ours *Set, sets []*Set) bool {
	all := with(sets, ours)
	if s := shapeOf(all...); s != keyed && s != values {
		return false
	}
	x := ItemsOf(all...)
	if !x.Distinct(live) {
		return false
	}
	for _, item := range list {
		pe, complete, ok := x.Element(item)
		if !ok {
			return false
		}
		c.item(path, pe, item, live, x, ours, sets)
		if complete {
			continue
		}
		// The server may complete the key to any of these.
		for _, pe := range x.Possible(item) {
			c.item(path, pe, item, live, x, ours, sets)
		}
	}
	return true
}

func (c *contest) item(path Path, pe fieldpath.PathElement, item any, live []any, x Items, ours *Set, sets []*Set) {
	at := side{}
	if i := slices.IndexFunc(live, func(v any) bool { return x.Match(v, pe) == Exact }); i >= 0 {
		at = side{live[i], true}
	}
	c.child(path, pe, item, at, ours, sets)
}

// with returns sets and ours, if there is one.
func with(sets []*Set, ours *Set) []*Set {
	if ours == nil {
		return sets
	}
	return append(slices.Clip(sets), ours)
}
