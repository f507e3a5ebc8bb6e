package transfer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Mode determines whether the givers keep their ownership.
type Mode string

const (
	// Move moves the fields from the givers to the receiver.
	Move Mode = "move"
	// Share makes the receiver a co-owner of the givers' fields.
	Share Mode = "share"
	// Release removes the givers' ownership. There is no receiver.
	Release Mode = "release"
)

// Wish describes a transfer of ownership.
type Wish struct {
	// Paths are the fields to transfer, with everything below them. Without Paths, all fields of
	// the managers in From except the status are transferred.
	Paths []fieldpath.Path
	// From lists the givers. If it is empty, the giver is the current owner, provided that there is
	// only one.
	From []string
	To   string
	// As names the operation, Apply or Update, with which the receiver owns the fields. The default
	// is the operation of its existing entry.
	As string
	// Mode is Move by default.
	Mode Mode
	// Declared is the receiver's manifest, if known. Fields that it lacks stay with their owners,
	// because the receiver's next apply would remove them. Fields in Paths are transferred
	// regardless.
	Declared map[string]any
}

// Outcome is the result of a transfer.
type Outcome struct {
	Entries []managedfields.Entry
	// Given is sorted by path, and has one entry for each former owner of a field.
	Given []Given
	Left  []Left
}

// Given is a field that changes owners.
type Given struct {
	Path fieldpath.Path
	From managedfields.Owner
	// To is zero if the field is released.
	To managedfields.Owner
	// Shared means that From still owns the field.
	Shared bool
	// Inner means that the path contains other paths, which have their own owners.
	Inner bool
}

// Left is a field that stays with its owner.
type Left struct {
	Path  fieldpath.Path
	Owner managedfields.Owner
	Why   Why
}

// Why is the reason why a field stays with its owner.
type Why string

const (
	// Undeclared means that the receiver applies a manifest without the field.
	Undeclared Why = "unstated"
	// OtherVersion means that the owner has the field at a different API version from the
	// receiver's. Managed fields are not converted.
	OtherVersion Why = "other version"
)

// Give returns the managed fields after a transfer. Entries of managers that take no part stay
// unchanged, and a path without an owner does not gain one. If nothing changes, Outcome.Given is
// empty.
func Give(entries []managedfields.Entry, w Wish) (Outcome, error) {
	if err := w.check(entries); err != nil {
		return Outcome{}, err
	}
	to, err := w.receiver(entries)
	if err != nil {
		return Outcome{}, err
	}
	intended, err := w.intended(entries, to)
	if err != nil {
		return Outcome{}, err
	}
	if to.Manager != "" && to.APIVersion == "" {
		to.APIVersion = managedfields.Newest(intended, func(e managedfields.Entry) bool { return !e.Fields.Empty() })
	}
	out := w.carryOut(entries, intended, to)
	if len(out.Entries) == 0 {
		return Outcome{}, ErrLast
	}
	return out, nil
}

func (w Wish) carryOut(entries, intended []managedfields.Entry, to managedfields.Owner) Outcome {
	var out Outcome
	received := map[string]managedfields.Entry{} // by API version
	out.Entries = slices.Clone(entries)
	for i, e := range intended {
		if e.Fields.Empty() {
			continue
		}
		at := to
		if to.Operation == managedfields.Update {
			at.APIVersion = e.APIVersion // An updater has an entry for each version.
		}
		set := e.Fields
		switch {
		case w.Mode == Release:
		case e.APIVersion != at.APIVersion:
			out.leave(e, set, OtherVersion)
			continue
		case w.Declared != nil && len(w.Paths) == 0 && at.Operation == managedfields.Apply:
			var undeclared *fieldpath.Set
			set, undeclared = declaredOf(set, w.Declared)
			out.leave(e, undeclared, Undeclared)
		}
		given := set
		if w.Mode != Release {
			into, known := received[at.APIVersion]
			if !known {
				into = entryOf(entries, at)
			}
			if w.Mode == Share {
				given = set.Difference(into.Fields)
			}
			parents := parentsOf(set, entries[i].Fields)
			out.give(entries[i], parents.Difference(into.Fields), at, true)
			into.Fields = into.Fields.Union(set).Union(parents)
			if into.Time.IsZero() && !slices.ContainsFunc(entries, isOf(at)) {
				into.Time = e.Time
			}
			received[at.APIVersion] = into
		}
		out.give(entries[i], given, at, w.Mode == Share)
		if w.Mode != Share {
			out.Entries[i].Fields = out.Entries[i].Fields.Difference(set)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(received)) {
		into := received[at]
		if i := slices.IndexFunc(out.Entries, isOf(into.Owner)); i >= 0 {
			out.Entries[i] = into
		} else {
			out.Entries = append(out.Entries, into)
		}
	}
	out.Entries = slices.DeleteFunc(out.Entries, func(e managedfields.Entry) bool { return e.Fields.Empty() })
	slices.SortStableFunc(out.Given, func(a, b Given) int { return a.Path.Compare(b.Path) })
	slices.SortStableFunc(out.Left, func(a, b Left) int { return a.Path.Compare(b.Path) })
	return out
}

func (o *Outcome) give(e managedfields.Entry, set *fieldpath.Set, to managedfields.Owner, shared bool) {
	fieldpath.Each(set, func(p fieldpath.Path) {
		_, inner := below(e.Fields, p)
		o.Given = append(o.Given, Given{Path: p.Clone(), From: e.Owner, To: to, Shared: shared, Inner: inner})
	})
}

// parentsOf returns the parents of the given paths, and the key fields of list items among these
// parents. It returns only those paths that are in all but not in given. The receiver must own the
// returned paths, too: when an applier gives up a map or list item, the server removes everything
// in it, unless another manager owns the map or item itself. An item also needs its key.
func parentsOf(given, all *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	add := func(p fieldpath.Path) {
		if fieldpath.Has(all, p) && !fieldpath.Has(given, p) {
			fieldpath.Insert(out, p)
		}
	}
	fieldpath.Each(given, func(p fieldpath.Path) {
		for n := len(p) - 1; n > 0; n-- {
			parent := p[:n].Clone()
			add(parent)
			for _, name := range fieldpath.KeyNames(parent[n-1]) {
				add(parent.Child(fieldpath.FieldElement(name)))
			}
		}
	})
	return out
}

func (o *Outcome) leave(e managedfields.Entry, set *fieldpath.Set, why Why) {
	fieldpath.Each(set.Leaves(), func(p fieldpath.Path) {
		o.Left = append(o.Left, Left{Path: p.Clone(), Owner: e.Owner, Why: why})
	})
}

// intended returns the fields that each entry is to give. It is no error if only the receiver itself has
// matching fields: then the transfer has been done before. Fields of the status stay with their controllers.
func (w Wish) intended(entries []managedfields.Entry, to managedfields.Owner) ([]managedfields.Entry, error) {
	out := make([]managedfields.Entry, len(entries))
	var had bool
	for i, e := range entries {
		out[i] = managedfields.Entry{Owner: e.Owner, Fields: fieldpath.NewSet()}
		if w.Mode != Release && seat(e.Owner) == seat(to) {
			had = had || w.isFrom(e)
			continue
		}
		if e.Subresource == statusSubresource || !w.isFrom(e) {
			continue
		}
		out[i].Fields = w.selected(e.Fields)
	}
	for _, p := range w.Paths {
		if err := w.checkPath(p, entries, out, to); err != nil {
			return nil, err
		}
	}
	if len(w.Paths) == 0 && !had && !slices.ContainsFunc(out, func(e managedfields.Entry) bool { return !e.Fields.Empty() }) {
		return out, &NothingError{From: w.From, Managers: managers(slices.DeleteFunc(slices.Clone(entries), func(e managedfields.Entry) bool { return e.Subresource == statusSubresource }))}
	}
	return out, nil
}

func (w Wish) checkPath(p fieldpath.Path, entries, intended []managedfields.Entry, to managedfields.Owner) error {
	var from []managedfields.Owner
	for _, e := range intended {
		if fieldpath.Holds(e.Fields, p) {
			from = append(from, e.Owner)
		}
	}
	slices.SortFunc(from, managedfields.Owner.Compare)
	switch {
	case len(from) > 1 && len(w.From) == 0 && w.Mode != Share && !oneManager(from):
		advice := "use --from to choose which owners lose the field, or add an owner with --share"
		if w.Mode == Release {
			advice = "use --from to choose which owners lose the field"
		}
		return object.Hinted(advice, "%s has several owners: %s", p, list(from))
	case len(from) > 0:
		return nil
	}
	owners := managedfields.HoldersOf(entries, p)
	if w.Mode != Release && slices.ContainsFunc(owners, func(o managedfields.Owner) bool { return seat(o) == seat(to) }) {
		return nil // The receiver has it.
	}
	if whole, by := around(entries, p); len(by) > 0 && len(owners) == 0 {
		return object.Hinted(fmt.Sprintf("give %s", whole), "%s is owned as one value by %s, and %s is only a part of it", whole, list(by), p)
	}
	if w.Mode == Release && len(owners) == 0 {
		return nil // It is released.
	}
	return &NotOwnedError{Path: p, From: w.From, Owners: owners}
}

func seat(o managedfields.Owner) managedfields.Owner {
	return managedfields.Owner{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource}
}

func (w Wish) selected(set *fieldpath.Set) *fieldpath.Set {
	if len(w.Paths) == 0 {
		return set.RecursiveDifference(fieldpath.NewSet(fieldpath.Field("status")))
	}
	out := fieldpath.NewSet()
	fieldpath.Each(set, func(held fieldpath.Path) {
		if slices.ContainsFunc(w.Paths, func(p fieldpath.Path) bool { return held.HasPrefix(p) }) {
			fieldpath.Insert(out, held.Clone())
		}
	})
	return out
}

func (w Wish) isFrom(e managedfields.Entry) bool {
	return len(w.From) == 0 || slices.Contains(w.From, e.Manager)
}

func declaredOf(set *fieldpath.Set, manifest map[string]any) (declared, rest *fieldpath.Set) {
	declared = fieldpath.NewSet()
	fieldpath.Each(set, func(p fieldpath.Path) {
		if _, is := p.Get(manifest); is {
			fieldpath.Insert(declared, p.Clone())
		}
	})
	return declared, set.Difference(declared)
}

func around(entries []managedfields.Entry, p fieldpath.Path) (fieldpath.Path, []managedfields.Owner) {
	for n := len(p) - 1; n > 0; n-- {
		var owners []managedfields.Owner
		for _, e := range entries {
			if _, inner := below(e.Fields, p[:n]); fieldpath.Has(e.Fields, p[:n]) && !inner {
				owners = append(owners, e.Owner)
			}
		}
		if len(owners) > 0 {
			slices.SortFunc(owners, managedfields.Owner.Compare)
			return p[:n], owners
		}
	}
	return nil, nil
}

func below(set *fieldpath.Set, p fieldpath.Path) (*fieldpath.Set, bool) {
	for _, pe := range p {
		var ok bool
		if set, ok = fieldpath.Below(set, pe); !ok {
			return nil, false
		}
	}
	return set, true
}

func oneManager(owners []managedfields.Owner) bool {
	return !slices.ContainsFunc(owners, func(o managedfields.Owner) bool { return o.Manager != owners[0].Manager })
}

func isOf(owner managedfields.Owner) func(managedfields.Entry) bool {
	return func(e managedfields.Entry) bool { return e.Equal(owner) }
}

func entryOf(entries []managedfields.Entry, owner managedfields.Owner) managedfields.Entry {
	if i := slices.IndexFunc(entries, isOf(owner)); i >= 0 {
		return entries[i]
	}
	return managedfields.Entry{Owner: owner, Fields: fieldpath.NewSet()}
}

// Reversion moves the entries of the given owners to another version. If a moved owner then equals
// another owner, their two entries are merged, because the API server would drop one of them. Other
// entries stay unchanged and in order.
func Reversion(entries []managedfields.Entry, owners []managedfields.Owner, version string) []managedfields.Entry {
	out := make([]managedfields.Entry, 0, len(entries))
	moved := make([]bool, 0, len(entries))
	for _, e := range entries {
		moves := slices.ContainsFunc(owners, e.Equal)
		if moves {
			e.APIVersion = version
		}
		if i := placeOf(out, moved, e, moves); i >= 0 {
			out[i].Fields = out[i].Fields.Union(e.Fields)
			if e.Time.After(out[i].Time) {
				out[i].Time = e.Time
			}
			moved[i] = true
			continue
		}
		out, moved = append(out, e), append(moved, moves)
	}
	return out
}

func placeOf(entries []managedfields.Entry, moved []bool, e managedfields.Entry, moves bool) int {
	for i, other := range entries {
		if (moves || moved[i]) && other.SameEntry(e.Owner) {
			return i
		}
	}
	return -1
}
