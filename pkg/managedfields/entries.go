package managedfields

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Entries reads metadata.managedFields. An object without managed fields has no entries;
// an entry may have no time. The error names the manager whose entry cannot be read. A
// Secret's stringData is read as data, where its values are stored.
func Entries(u *unstructured.Unstructured) ([]Entry, error) {
	raw := rawEntries(u)
	if len(raw) == 0 {
		return nil, nil
	}
	entries := make([]Entry, 0, len(raw))
	for i, r := range raw {
		m, ok := r.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("metadata.managedFields: entry %d is not a map", i)
		}
		if len(m) == 0 { // A request to clear managed fields has this form.
			continue
		}
		owner := ownerOf(m)
		set, err := fieldsOf(m)
		if err != nil {
			return nil, fmt.Errorf("metadata.managedFields of manager %q: %w", owner.Manager, err)
		}
		entries = append(entries, present(stored(Entry{Owner: owner, Fields: set}), u))
	}
	return entries, nil
}

// EntriesOf is [Entries] for managed fields in the form of typed clients and metadata
// watches.
func EntriesOf(fields []metav1.ManagedFieldsEntry) ([]Entry, error) {
	entries := make([]Entry, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.Manager == "" && f.Operation == "" && f.FieldsV1 == nil { // A request to clear has this form.
			continue
		}
		owner := Owner{
			Manager: f.Manager, Operation: string(f.Operation),
			Subresource: f.Subresource, APIVersion: f.APIVersion,
		}
		if f.Time != nil {
			owner.Time = f.Time.Time
		}
		set, err := typedFields(f)
		if err != nil {
			return nil, fmt.Errorf("metadata.managedFields of manager %q: %w", owner.Manager, err)
		}
		entries = append(entries, stored(Entry{Owner: owner, Fields: set}))
	}
	return entries, nil
}

func typedFields(f *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	if f.FieldsType != "FieldsV1" {
		return nil, fmt.Errorf("fieldsType is %q, not FieldsV1", f.FieldsType)
	}
	if f.FieldsV1 == nil {
		return fieldpath.NewSet(), nil
	}
	return fieldpath.FromJSON(f.FieldsV1.GetRawReader())
}

// Managed returns what a manager holds by applying the main resource: an empty set,
// never nil, if it holds nothing.
func Managed(entries []Entry, manager string) *fieldpath.Set {
	return heldWhere(entries, func(e Entry) bool { return e.Is(manager) })
}

// heldWhere returns the union of the matching entries; it is never nil.
func heldWhere(entries []Entry, of func(Entry) bool) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, e := range entries {
		switch {
		case !of(e):
		case set.Empty():
			set = e.Fields
		default:
			set = set.Union(e.Fields)
		}
	}
	return set
}

// AppliedBy returns the entry that a manager's apply of the main resource has.
func AppliedBy(entries []Entry, manager string) (Entry, bool) {
	for _, e := range entries {
		if e.Is(manager) {
			return e, true
		}
	}
	return Entry{}, false
}

// Others returns all entries except a manager's Apply entry. They include what the
// same manager holds by updates or through a subresource: to the API server these
// are other owners, which keep their fields when we apply.
func Others(entries []Entry, manager string) []Entry {
	out := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if !e.Is(manager) {
			out = append(out, e)
		}
	}
	return out
}

// Owners returns, sorted, all owners of a path, of an atomic value around it, or of
// something below it: equal values are shared, so there may be many. It includes
// entries of another version than the path's; their APIVersion says so. A path by position,
// such as .spec.containers[0], is an error: owners know list items by their key, see
// [fieldpath.Path.ByKey].
func Owners(entries []Entry, p fieldpath.Path) ([]Owner, error) {
	if p.Positional() {
		return nil, fmt.Errorf("%s names a list item by its position: owners know it by its key", p)
	}
	var owners []Owner
	for _, e := range entries {
		if fieldpath.Touches(e.Fields, p) {
			owners = append(owners, e.Owner)
		}
	}
	slices.SortFunc(owners, Owner.Compare)
	return owners, nil
}

// HoldersOf returns, sorted, all owners of the path itself or of something below it. It is
// for paths that have an owner. Such paths do not lead into atomic values, so an owner of
// a path above has stated an empty parent ("labels: {}"), and nothing that others put into
// it.
func HoldersOf(entries []Entry, p fieldpath.Path) []Owner {
	var owners []Owner
	for _, e := range entries {
		if fieldpath.Holds(e.Fields, p) {
			owners = append(owners, e.Owner)
		}
	}
	slices.SortFunc(owners, Owner.Compare)
	return owners
}

func rawEntries(u *unstructured.Unstructured) []any {
	if u == nil {
		return nil
	}
	meta, _ := u.Object["metadata"].(map[string]any)
	raw, _ := meta["managedFields"].([]any)
	return raw
}

func ownerOf(m map[string]any) Owner {
	text := func(name string) string {
		s, _ := m[name].(string)
		return s
	}
	o := Owner{
		Manager: text("manager"), Operation: text("operation"),
		Subresource: text("subresource"), APIVersion: text("apiVersion"),
	}
	if t, err := time.Parse(time.RFC3339, text("time")); err == nil {
		o.Time = t
	}
	return o
}

func fieldsOf(m map[string]any) (*fieldpath.Set, error) {
	if t := m["fieldsType"]; t != "FieldsV1" {
		return nil, fmt.Errorf("fieldsType is %v, not FieldsV1", t)
	}
	raw := m["fieldsV1"]
	if raw == nil {
		return fieldpath.NewSet(), nil
	}
	tree, ok := raw.(map[string]any)
	if !ok {
		return nil, errors.New("fieldsV1 is not a map")
	}
	return fieldpath.FromTree(tree)
}

// HeldBy returns what one owner holds.
func HeldBy(entries []Entry, owner Owner) *fieldpath.Set {
	return heldWhere(entries, func(e Entry) bool { return e.Equal(owner) })
}
