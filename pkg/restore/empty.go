package restore

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"

// stateEmpty adds an empty map, list or list item to a value, if the live one has one at
// the path, and returns the value.
func stateEmpty(to any, p fieldpath.Path, live any) any {
	if len(p) == 0 {
		switch {
		case to != nil:
			return to
		case shapeOf(live) == "map":
			return map[string]any{}
		case shapeOf(live) == "list":
			return []any{}
		default:
			return live
		}
	}
	pe := p[0]
	if pe.FieldName != nil {
		m, _ := to.(map[string]any)
		if m == nil {
			m = map[string]any{}
		}
		below, _ := live.(map[string]any)
		m[*pe.FieldName] = stateEmpty(m[*pe.FieldName], p[1:], below[*pe.FieldName])
		return m
	}
	list, _ := to.([]any)
	from, _ := live.([]any)
	at := fieldpath.Find(from, pe)
	i := fieldpath.Find(list, pe)
	switch {
	case at < 0:
		return to
	case i < 0:
		list, i = append(list, itemOf(pe, from[at])), len(list)
	}
	list[i] = stateEmpty(list[i], p[1:], from[at])
	return list
}

// itemOf is a list item with nothing but its key.
func itemOf(pe fieldpath.Element, live any) any {
	if pe.Key == nil {
		return live
	}
	item := map[string]any{}
	for _, f := range *pe.Key {
		item[f.Name] = f.Value.Unstructured()
	}
	return item
}
