package exclusive

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// isBeside reports whether the path is in a list item that only resembles an item of the manifest: the
// manifest's item omits a part of its key, such as a port's protocol, and the server's default makes it
// another item. Before the server has created a new object, all such items may be additions.
func (s *search) isBeside(p fieldpath.Path) bool {
	for i, pe := range p {
		if pe.Key == nil {
			continue
		}
		x := fieldpath.ItemsNamed(pe)
		declared := itemsAt(s.Manifest.Object, p[:i])
		at := x.Find(declared, pe)
		if at < 0 || x.Match(declared[at], pe) != fieldpath.Partial {
			continue
		}
		has := func(pe fieldpath.Element) bool { return fieldpath.Has(s.ours, append(p[:i].Clone(), pe)) }
		switch {
		case has(pe):
		case s.Created != nil:
			created := itemsAt(s.Created.Object, p[:i])
			if !slices.ContainsFunc(created, func(item any) bool { return x.Match(item, pe) == fieldpath.Exact }) {
				return true
			}
		default: // Our own entry shows which one the manifest's item is.
			for _, item := range itemsAt(s.Live.Object, p[:i]) {
				if other, complete, _ := x.Element(item); complete && x.Match(declared[at], other) == fieldpath.Partial && has(other) {
					return true
				}
			}
		}
	}
	return false
}

func itemsAt(object map[string]any, list fieldpath.Path) []any {
	v, _ := list.Get(object)
	items, _ := v.([]any)
	return items
}
