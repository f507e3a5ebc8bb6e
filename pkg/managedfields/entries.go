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

// Entries decodes metadata.managedFields. It returns nil for an object without managed fields. An
// error names the manager whose entry is invalid. The stringData of a Secret is read as data, where
// the server stores its values.
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
		if len(m) == 0 { // This form is a request to clear managed fields.
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

// EntriesOf works like [Entries], for the managed fields of typed objects and metadata watches.
func EntriesOf(fields []metav1.ManagedFieldsEntry) ([]Entry, error) {
	entries := make([]Entry, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.Manager == "" && f.Operation == "" && f.FieldsV1 == nil { // This form is a request to clear managed fields.
			continue
		}
		owner := Owner{Manager: f.Manager, Operation: string(f.Operation), Subresource: f.Subresource, APIVersion: f.APIVersion}
		if f.Time != nil {
			owner.Time = f.Time.UTC()
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

// Managed returns the fields that a manager owns from applying the main resource. The set is never
// nil.
func Managed(entries []Entry, manager string) *fieldpath.Set {
	return heldWhere(entries, func(e Entry) bool { return e.Is(manager) })
}

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

// HeldBy returns the fields of one owner.
func HeldBy(entries []Entry, owner Owner) *fieldpath.Set {
	return heldWhere(entries, func(e Entry) bool { return e.Equal(owner) })
}

// AppliedBy returns a manager's entry from applying the main resource.
func AppliedBy(entries []Entry, manager string) (Entry, bool) {
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Is(manager) }); i >= 0 {
		return entries[i], true
	}
	return Entry{}, false
}

// Others returns all entries except a manager's Apply entry. To the API server, the same manager's
// updates and subresources are other owners: they keep their fields when the manager applies.
func Others(entries []Entry, manager string) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Is(manager) })
}

// Owners returns all owners of a path, of an atomic value that contains it, or of anything below
// it, sorted. Entries at other API versions count, too. A path with a position, such as
// .spec.containers[0], is an error, because managed fields name list items by key: see
// [fieldpath.Path.ByKey].
func Owners(entries []Entry, p fieldpath.Path) ([]Owner, error) {
	if p.Positional() {
		return nil, fmt.Errorf("%s names a list item by its position, but managed fields name it by its key", p)
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

// HoldersOf returns all owners of a path or of anything below it, sorted. It assumes that the path
// has an owner, and is therefore not inside an atomic value. So if a parent of the path also has an
// owner, the parent was empty when that owner wrote it ("labels: {}"), and the owner does not own
// what others put into it.
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
	o := Owner{Manager: text("manager"), Operation: text("operation"), Subresource: text("subresource"), APIVersion: text("apiVersion")}
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

// Encode encodes entries as metadata.managedFields.
func Encode(entries []Entry) ([]any, error) {
	out := make([]any, 0, len(entries))
	for _, e := range entries {
		tree, err := fieldpath.ToTree(e.Fields)
		if err != nil {
			return nil, fmt.Errorf("metadata.managedFields of manager %q: %w", e.Manager, err)
		}
		m := map[string]any{
			"manager": e.Manager, "operation": e.Operation, "apiVersion": e.APIVersion,
			"fieldsType": "FieldsV1", "fieldsV1": tree,
		}
		if e.Subresource != "" {
			m["subresource"] = e.Subresource
		}
		if !e.Time.IsZero() {
			m["time"] = e.Time.UTC().Format("2006-01-02T15:04:05Z07:00")
		}
		out = append(out, m)
	}
	return out, nil
}

// SameApplied reports whether a manager's Apply entry for the main resource has the same paths and
// the same version in both objects. It returns false if managed fields cannot be decoded.
func SameApplied(a, b *unstructured.Unstructured, manager string) bool {
	left, err := Entries(a)
	if err != nil {
		return false
	}
	right, err := Entries(b)
	if err != nil {
		return false
	}
	l, had := AppliedBy(left, manager)
	r, has := AppliedBy(right, manager)
	if !had || !has {
		return had == has
	}
	return l.APIVersion == r.APIVersion && l.Fields.Equals(r.Fields)
}

// SameOwners reports whether the same owners own the same paths in both objects, regardless of
// times. It returns false if managed fields cannot be decoded.
func SameOwners(a, b *unstructured.Unstructured) bool {
	left, err := Entries(a)
	if err != nil {
		return false
	}
	right, err := Entries(b)
	if err != nil || len(left) != len(right) {
		return false
	}
	for _, l := range left {
		if !slices.ContainsFunc(right, func(r Entry) bool {
			return r.SameEntry(l.Owner) && r.APIVersion == l.APIVersion && r.Fields.Equals(l.Fields)
		}) {
			return false
		}
	}
	return true
}

// A Secret's stringData is write-only. The server stores its values in data, but records an apply
// under the name that was sent, so f:stringData.X means f:data.X. The server itself does not take
// this into account (edge case 12): it lets another manager overwrite data.X without a conflict,
// and it keeps data.X when the applier of stringData.X no longer sets it.

const writeOnly, storedAs = "stringData", "data"

// stored replaces write-only paths with the paths of the stored values. In the core group, only
// Secrets have stringData.
func stored(e Entry) Entry {
	pe := fieldpath.FieldElement(writeOnly)
	if e.APIVersion != "v1" || !fieldpath.Touches(e.Fields, fieldpath.Path{pe}) {
		return e
	}
	under := fieldpath.NewSet()
	if e.Fields.Members.Has(pe) {
		fieldpath.Insert(under, fieldpath.Field(storedAs))
	}
	if child, ok := fieldpath.Below(e.Fields, pe); ok {
		fieldpath.Each(child, func(p fieldpath.Path) {
			fieldpath.Insert(under, append(fieldpath.Field(storedAs), p.Clone()...))
		})
	}
	rest := e.Fields.RecursiveDifference(fieldpath.NewSet(fieldpath.Path{pe}))
	e.WriteOnly = under.Difference(rest)
	e.Fields = rest.Union(under)
	return e
}

// present removes write-only paths whose values are no longer in the Secret, because the server
// leaves them in the entry.
func present(e Entry, u *unstructured.Unstructured) Entry {
	if e.WriteOnly == nil || u.GetKind() != "Secret" {
		return e
	}
	gone := fieldpath.NewSet()
	fieldpath.Each(e.WriteOnly, func(p fieldpath.Path) {
		if _, has := p.Get(u.Object); !has {
			fieldpath.Insert(gone, p.Clone())
		}
	})
	e.Fields, e.WriteOnly = e.Fields.Difference(gone), e.WriteOnly.Difference(gone)
	return e
}

// Stored returns the path at which the value of a write-only path is stored, and returns other
// paths unchanged.
func Stored(p fieldpath.Path, live *unstructured.Unstructured) fieldpath.Path {
	if live == nil || len(p) == 0 || p[0].FieldName == nil || *p[0].FieldName != writeOnly ||
		live.GetKind() != "Secret" || live.GetAPIVersion() != "v1" {
		return p
	}
	return append(fieldpath.Field(storedAs), p[1:]...)
}
