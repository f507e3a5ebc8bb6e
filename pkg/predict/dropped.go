package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Dropped returns the values that were sent and that the server's response lacks, because admission
// has removed them, or because the server drops the fields of a disabled feature. It ignores empty
// and zero values, which the server may omit, and fields that are never stored as sent.
func Dropped(answer, sent *unstructured.Unstructured) []managedfields.Change {
	var out []managedfields.Change
	var visit func(path fieldpath.Path, from, to any, there bool)
	visit = func(path fieldpath.Path, from, to any, there bool) {
		switch from := from.(type) {
		case map[string]any:
			fields, isMap := to.(map[string]any)
			if there && !isMap {
				return
			}
			for name, value := range from {
				field, has := fields[name]
				visit(path.Child(fieldpath.FieldElement(name)), value, field, has)
			}
		case []any:
			if !there && len(from) > 0 {
				out = append(out, managedfields.Change{Path: path, From: from, Kind: managedfields.Removed})
				return
			}
			items, _ := to.([]any)
			for i, item := range from {
				if now, path, ok := counterpart(path, from, items, i); ok {
					visit(path, item, now, now != nil)
				}
			}
		default:
			if !there && !fieldpath.IsZero(from) {
				out = append(out, managedfields.Change{Path: path, From: from, Kind: managedfields.Removed})
			}
		}
	}
	for name, value := range sent.Object {
		switch name {
		case "apiVersion", "kind", "status", "stringData":
			continue
		case "metadata":
			for _, name := range []string{"labels", "annotations"} {
				from, declared, _ := unstructured.NestedFieldNoCopy(sent.Object, "metadata", name)
				to, there, _ := unstructured.NestedFieldNoCopy(answer.Object, "metadata", name)
				if declared {
					visit(fieldpath.Field("metadata", name), from, to, there)
				}
			}
			continue
		}
		to, there := answer.Object[name]
		visit(fieldpath.Field(name), value, to, there)
	}
	slices.SortFunc(out, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	return out
}

// counterpart returns the stored item that belongs to an item of a list, and its path; nil if there
// is none. It finds only items that have a name: the server may merge or reorder the items of other
// lists.
func counterpart(path fieldpath.Path, sent, stored []any, i int) (now any, at fieldpath.Path, ok bool) {
	name := nameIn(sent[i])
	if name == "" || count(sent, name) != 1 {
		return nil, nil, false
	}
	at = path.Item("name", name)
	for _, item := range stored {
		if nameIn(item) == name {
			return item, at, count(stored, name) == 1
		}
	}
	return nil, at, true
}

func nameIn(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

func count(items []any, name string) int {
	n := 0
	for _, item := range items {
		if nameIn(item) == name {
			n++
		}
	}
	return n
}
