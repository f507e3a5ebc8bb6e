package ownership

import (
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Lookup reads many paths of one object, which must not change. Unlike [fieldpath.Path.Get] it does
// not search a long list again for each of its items.
type Lookup struct {
	object map[string]any
	lists  map[longList]index
}

// NewLookup returns the lookup of an object.
func NewLookup(object map[string]any) *Lookup {
	return &Lookup{object: object, lists: map[longList]index{}}
}

// Get is [fieldpath.Path.Get].
func (l *Lookup) Get(p fieldpath.Path) (any, bool) { return p.GetBy(l.object, l.find) }

// Same is [fieldpath.Path.Same].
func (l *Lookup) Same(p fieldpath.Path, other *Lookup) bool {
	was, hasWas := l.Get(p)
	is, hasIs := other.Get(p)
	return hasWas == hasIs && (!hasWas || fieldpath.Equal(was, is))
}

// fewItems is the length up to which searching a list is cheaper than indexing it.
const fewItems = 16

// longList identifies a list by its first item and the names of its keys; no names for a list of
// values.
type longList struct {
	first *any
	names string
}

// index maps the text of a key to the positions of its items.
type index struct {
	at map[string][]int
	// partial: an item lacks part of its key, so that a key that is not in the map may still mean
	// this item.
	partial bool
}

func (l *Lookup) find(list []any, pe fieldpath.Element) int {
	if len(list) <= fewItems || pe.Index != nil || pe.Key == nil && pe.Value == nil {
		return fieldpath.Find(list, pe)
	}
	x := fieldpath.ItemsNamed(pe)
	names := x.Names()
	name := longList{&list[0], strings.Join(names, "\x00")}
	at, ok := l.lists[name]
	if !ok {
		at = indexOf(list, names)
		l.lists[name] = at
	}
	for _, i := range at.at[keyText(pe, names)] {
		if x.Match(list[i], pe) == fieldpath.Exact {
			return i
		}
	}
	if at.partial {
		return fieldpath.Find(list, pe)
	}
	return -1
}

func indexOf(list []any, names []string) index {
	out := index{at: make(map[string][]int, len(list))}
	for i, item := range list {
		text := scalarText(item)
		if len(names) > 0 {
			m, ok := item.(map[string]any)
			if !ok {
				continue
			}
			var key strings.Builder
			for _, name := range names {
				value, said := m[name]
				out.partial = out.partial || !said
				key.WriteString(scalarText(value) + "\x00")
			}
			text = key.String()
		}
		out.at[text] = append(out.at[text], i)
	}
	return out
}

func keyText(pe fieldpath.Element, names []string) string {
	if len(names) == 0 {
		return scalarText((*pe.Value).Unstructured())
	}
	var key strings.Builder
	for _, name := range names {
		value, _ := fieldpath.KeyField(pe, name)
		key.WriteString(scalarText(value) + "\x00")
	}
	return key.String()
}

// scalarText returns the same text for equal values. Unequal values may share it too: callers
// compare the values.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	if f, ok := fieldpath.AsFloat(v); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return ""
}
