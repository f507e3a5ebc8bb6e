package fieldpath

import "slices"

// Get returns the value at the path in an object, and whether the value exists. If a list item
// omits parts of its key that the server defaults, Get finds the item only if no other item is an
// equally good or better match.
func (p Path) Get(object map[string]any) (any, bool) { return p.GetBy(object, Find) }

// GetBy works like [Path.Get], but calls find to locate the list item that an element names.
func (p Path) GetBy(object map[string]any, find func([]any, Element) int) (any, bool) {
	var v any = object
	for _, pe := range p {
		switch c := v.(type) {
		case map[string]any:
			if pe.FieldName == nil {
				return nil, false
			}
			var ok bool
			if v, ok = c[*pe.FieldName]; !ok {
				return nil, false
			}
		case []any:
			i := find(c, pe)
			if i < 0 {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// SameField reports whether both paths name the same field of an object, even if one path omits
// part of a key.
func SameField(object map[string]any, a, b Path) bool {
	if len(a) != len(b) {
		return false
	}
	var v any = object
	for i, pe := range a {
		switch c := v.(type) {
		case map[string]any:
			if !pe.Equals(b[i]) || pe.FieldName == nil {
				return false
			}
			v = c[*pe.FieldName]
		case []any:
			at := Find(c, pe)
			if at < 0 || at != Find(c, b[i]) {
				return a[i:].Equal(b[i:])
			}
			v = c[at]
		default:
			return a[i:].Equal(b[i:])
		}
	}
	return true
}

// Same reports whether two objects have the same value at the path, or both have none. After a
// create or update, a list may contain several items with one key; Same then compares all of them.
func (p Path) Same(a, b map[string]any) bool {
	return slices.EqualFunc(p.values(a), p.values(b), Equal)
}

// values returns the value at the path, and those of further items with the same keys. A position names one
// item only.
func (p Path) values(object any) []any {
	if len(p) == 0 {
		return []any{object}
	}
	switch c := object.(type) {
	case map[string]any:
		if p[0].FieldName == nil {
			return nil
		}
		if v, has := c[*p[0].FieldName]; has {
			return p[1:].values(v)
		}
	case []any:
		at := Find(c, p[0])
		if at < 0 {
			return nil
		}
		found := p[1:].values(c[at])
		if p[0].Index != nil {
			return found
		}
		x := ItemsNamed(p[0])
		for _, item := range c[at+1:] {
			if x.Match(item, p[0]) == Exact {
				found = append(found, p[1:].values(item)...)
			}
		}
		return found
	}
	return nil
}

// Delete removes a path from a value and returns the new value. If possible, it changes the value
// in place.
func Delete(v any, p Path) any {
	switch v := v.(type) {
	case map[string]any:
		if p[0].FieldName == nil {
			return v
		}
		name := *p[0].FieldName
		if len(p) == 1 {
			delete(v, name)
		} else if below, ok := v[name]; ok {
			v[name] = Delete(below, p[1:])
		}
		return v
	case []any:
		i := Find(v, p[0])
		switch {
		case i < 0:
		case len(p) == 1:
			return slices.Delete(v, i, i+1)
		default:
			v[i] = Delete(v[i], p[1:])
		}
		return v
	default:
		return v
	}
}

// Put sets the value at a path whose parents exist.
func Put(v any, p Path, to any) {
	switch v := v.(type) {
	case map[string]any:
		switch {
		case p[0].FieldName == nil:
		case len(p) == 1:
			v[*p[0].FieldName] = to
		default:
			Put(v[*p[0].FieldName], p[1:], to)
		}
	case []any:
		if i := Find(v, p[0]); i >= 0 && len(p) > 1 {
			Put(v[i], p[1:], to)
		}
	}
}
