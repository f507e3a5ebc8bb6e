package review

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Stray is a field that was to keep its value, and has lost it in a write.
type Stray struct {
	Path fieldpath.Path
	// Gone means that there is no value any more.
	Gone bool
}

// Strayed returns the fields that a dry run (predicted) left as they were (live) and a write (stored)
// did not, sorted. An admission webhook that answers both differently can change fields that are not
// ours. Values that the dry run changes are left out, because the server can allocate another one for
// the write, such as a node port. In lists, only items with a name are compared.
func Strayed(live, predicted, stored *unstructured.Unstructured) []Stray {
	var out []Stray
	var visit func(path fieldpath.Path, was, then, now fieldpath.Optional)
	visit = func(path fieldpath.Path, was, then, now fieldpath.Optional) {
		switch {
		case !was.Has || !then.Has || now.Has && fieldpath.Equal(then.Value, now.Value):
			return
		case !now.Has:
			if fieldpath.Equal(was.Value, then.Value) {
				out = append(out, Stray{Path: path, Gone: true})
			}
			return
		}
		if fields, isMap := then.Value.(map[string]any); isMap {
			for name, value := range fields {
				visit(path.Child(fieldpath.FieldElement(name)), fieldpath.FieldOf(was.Value, name), fieldpath.Present(value), fieldpath.FieldOf(now.Value, name))
			}
			return
		}
		items, isList := then.Value.([]any)
		names := namesIn(items)
		if isList && names != nil {
			for i, name := range names {
				visit(path.Item("name", name), itemNamed(was.Value, name), fieldpath.Present(items[i]), itemNamed(now.Value, name))
			}
			return
		}
		if fieldpath.Equal(was.Value, then.Value) {
			out = append(out, Stray{Path: path})
		}
	}
	for name, value := range predicted.Object {
		switch name {
		case "apiVersion", "kind", "status":
		case "metadata":
			for _, name := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
				visit(fieldpath.Field("metadata", name), fieldpath.FieldOf(live.Object["metadata"], name),
					fieldpath.FieldOf(value, name), fieldpath.FieldOf(stored.Object["metadata"], name))
			}
		default:
			visit(fieldpath.Field(name), fieldpath.FieldOf(live.Object, name), fieldpath.Present(value), fieldpath.FieldOf(stored.Object, name))
		}
	}
	slices.SortFunc(out, func(a, b Stray) int { return a.Path.Compare(b.Path) })
	return out
}

// namesIn returns the names of all items; nil unless each item has a name of its own.
func namesIn(items []any) []string {
	var names []string
	for _, item := range items {
		name, _ := fieldpath.FieldOf(item, "name").Value.(string)
		if name == "" || slices.Contains(names, name) {
			return nil
		}
		names = append(names, name)
	}
	return names
}

func itemNamed(list any, name string) fieldpath.Optional {
	items, _ := list.([]any)
	if i := slices.Index(namesIn(items), name); i >= 0 {
		return fieldpath.Present(items[i])
	}
	return fieldpath.Optional{}
}
