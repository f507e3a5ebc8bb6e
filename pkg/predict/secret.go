package predict

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// WithoutStringData returns a Secret with its stringData merged into data, as the server merges it.
// The server stores and protects only data: two managers that apply stringData would overwrite each
// other without a conflict (edge case 12). Other objects, and Secrets that the server would refuse,
// are returned unchanged.
func WithoutStringData(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return u
	}
	plain, ok := u.Object["stringData"].(map[string]any)
	if !ok {
		return u
	}
	data := map[string]any{}
	switch stated := u.Object["data"].(type) {
	case nil:
	case map[string]any:
		maps.Copy(data, stated)
	default:
		return u
	}
	for key, value := range plain {
		text, ok := value.(string)
		if !ok {
			return u
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	out := maps.Clone(u.Object)
	delete(out, "stringData")
	out["data"] = data
	return &unstructured.Unstructured{Object: out}
}

// Beside adapts the apply of a Secret to managed fields that record a value under stringData. The
// server does not relate these records to data (edge case 12). Beside does not modify body, which
// must not contain stringData.
//
//   - If the body changes a value that another owner records, the value is also sent as stringData,
//     so that the server reports the conflict or moves the path. unseenBy handles values that are
//     not UTF-8.
//   - If the body lacks a value that another owner records, and only the manager owns the value as
//     data, the value is added to the body. Otherwise the server would remove the value.
//   - If the body lacks a value that only the manager records, Beside returns the path of the value.
//     The manager must own this path as data, or the value would stay.
func Beside(body, live *unstructured.Unstructured, manager string) (*unstructured.Unstructured, []fieldpath.Path, error) {
	if body.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return body, nil, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return body, nil, err
	}
	var claimed []fieldpath.Path
	plain, kept := map[string]any{}, map[string]any{}
	for _, e := range entries {
		for _, path := range recorded(e) {
			name := *path[1].FieldName
			declared, isDeclared := path.Get(body.Object)
			present, _ := path.Get(live.Object)
			switch by := byData(entries, path); {
			case e.Is(manager) && !isDeclared && len(managedfields.HoldersOf(managedfields.Others(entries, manager), path)) == 0:
				claimed = append(claimed, path)
			case e.Is(manager):
			case isDeclared:
				if text, changes := changed(declared, present); changes && utf8.Valid(text) {
					plain[name] = string(text)
				}
			case len(by) == 1 && by[0].Is(manager):
				kept[name] = present
			}
		}
	}
	if len(plain)+len(kept) == 0 {
		return body, claimed, nil
	}
	data, _ := body.Object["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	maps.Copy(data, kept)
	out := maps.Clone(body.Object)
	out["data"] = data
	if len(plain) > 0 {
		out["stringData"] = plain
	}
	return &unstructured.Unstructured{Object: out}, claimed, nil
}

// unseenBy returns the conflicts on a Secret that the server does not report. In each of them,
// another owner records the value as stringData, and the body changes the value to bytes that are
// not UTF-8. stringData cannot contain such bytes.
func unseenBy(body, live *unstructured.Unstructured, manager string) ([]managedfields.Conflict, error) {
	if body.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return nil, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, err
	}
	var out []managedfields.Conflict
	for _, e := range managedfields.Others(entries, manager) {
		for _, path := range recorded(e) {
			declared, isDeclared := path.Get(body.Object)
			present, _ := path.Get(live.Object)
			text, changes := changed(declared, present)
			if !isDeclared || !changes || utf8.Valid(text) || slices.ContainsFunc(out, func(c managedfields.Conflict) bool { return c.Path.Equal(path) }) {
				continue
			}
			owners := managedfields.HoldersOf(managedfields.Others(entries, manager), path)
			out = append(out, managedfields.Conflict{Path: path, Yours: declared, Live: present, HasLive: true, Owners: owners})
		}
	}
	return out, nil
}

// recorded returns the data paths that an entry records only as stringData.
func recorded(e managedfields.Entry) []fieldpath.Path {
	var out []fieldpath.Path
	if e.WriteOnly != nil {
		fieldpath.Each(e.WriteOnly, func(p fieldpath.Path) {
			if len(p) == 2 && p[1].FieldName != nil {
				out = append(out, p.Clone())
			}
		})
	}
	return out
}

func byData(entries []managedfields.Entry, path fieldpath.Path) []managedfields.Owner {
	return managedfields.HoldersOf(slices.DeleteFunc(slices.Clone(entries), func(e managedfields.Entry) bool {
		return e.WriteOnly != nil && fieldpath.Has(e.WriteOnly, path)
	}), path)
}

func changed(declared, live any) ([]byte, bool) {
	text, ok := declared.(string)
	if !ok {
		return nil, false
	}
	want, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, false // The server refuses invalid base64.
	}
	had, _ := live.(string)
	have, err := base64.StdEncoding.DecodeString(had)
	return want, err != nil || !bytes.Equal(want, have)
}
