package fights

import (
	"bytes"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

type difference struct {
	before, after []managedfields.Entry
	// gained and lost list the paths that each owner gained or lost, except those in digested
	// (status) entries.
	gained, lost []managedfields.Entry
	// touched lists the owners that gained a path or whose digested (status) entry changed. timed
	// lists the owners whose time changed.
	touched, timed []managedfields.Owner
	dropped        []managedfields.Owner
	status         bool
}

// differ returns the difference between the managed fields before and after a write. It decodes
// only the entries that changed.
func (t *Tally) differ(was, is []metav1.ManagedFieldsEntry) (*difference, error) {
	d := &difference{status: t.status}
	for i := range is {
		e := &is[i]
		j := slices.IndexFunc(was, func(o metav1.ManagedFieldsEntry) bool { return sameEntry(e, &o) })
		if j >= 0 && sameFields(e, &was[j]) {
			if !e.Time.Equal(was[j].Time) {
				d.timed = append(d.timed, ownerOf(e))
			}
			continue
		}
		if e.FieldsType == digested || j >= 0 && was[j].FieldsType == digested {
			d.touched = append(d.touched, ownerOf(e))
			continue
		}
		before := fieldpath.NewSet()
		if j >= 0 {
			old, err := decode(&was[j])
			if err != nil {
				return nil, err
			}
			before = old.Fields
		}
		now, err := decode(e)
		if err != nil {
			return nil, err
		}
		if j < 0 || !e.Time.Equal(was[j].Time) {
			d.timed = append(d.timed, now.Owner)
		}
		gained, lost := now.Fields.Difference(before), before.Difference(now.Fields)
		if !gained.Empty() {
			d.touched = append(d.touched, now.Owner)
		}
		d.gained = append(d.gained, managedfields.Entry{Owner: now.Owner, Fields: gained.Leaves()})
		d.lost = append(d.lost, managedfields.Entry{Owner: now.Owner, Fields: lost.Leaves()})
	}
	for j := range was {
		e := &was[j]
		if e.FieldsType == digested || slices.ContainsFunc(is, func(o metav1.ManagedFieldsEntry) bool { return sameEntry(e, &o) }) {
			continue
		}
		old, err := decode(e)
		if err != nil {
			return nil, err
		}
		d.dropped = append(d.dropped, old.Owner)
		d.lost = append(d.lost, managedfields.Entry{Owner: old.Owner, Fields: old.Fields.Leaves()})
	}
	if len(d.gained)+len(d.lost) == 0 {
		return d, nil
	}
	var err error
	if d.before, err = decodeAll(was); err != nil {
		return nil, err
	}
	d.after, err = decodeAll(is)
	return d, err
}

func sameEntry(a, b *metav1.ManagedFieldsEntry) bool {
	return ownerOf(a).SameEntry(ownerOf(b))
}

func ownerOf(e *metav1.ManagedFieldsEntry) managedfields.Owner {
	o := managedfields.Owner{Manager: e.Manager, Operation: string(e.Operation), Subresource: e.Subresource, APIVersion: e.APIVersion}
	if e.Time != nil {
		o.Time = e.Time.UTC()
	}
	return o
}

func sameFields(a, b *metav1.ManagedFieldsEntry) bool {
	return a.APIVersion == b.APIVersion && bytes.Equal(rawOf(a), rawOf(b))
}

func rawOf(e *metav1.ManagedFieldsEntry) []byte {
	if e.FieldsV1 == nil {
		return nil
	}
	return e.FieldsV1.GetRawBytes()
}

func decodeAll(all []metav1.ManagedFieldsEntry) ([]managedfields.Entry, error) {
	return managedfields.EntriesOf(slices.DeleteFunc(slices.Clone(all), func(e metav1.ManagedFieldsEntry) bool { return e.FieldsType == digested }))
}

func decode(e *metav1.ManagedFieldsEntry) (managedfields.Entry, error) {
	entries, err := managedfields.EntriesOf([]metav1.ManagedFieldsEntry{*e})
	if err != nil || len(entries) == 0 {
		return managedfields.Entry{Fields: fieldpath.NewSet()}, err
	}
	return entries[0], nil
}

// moves returns the paths that changed owners. It ignores a path that only gains an additional
// owner, or that loses one owner and keeps another.
func (d *difference) moves() []move {
	var out []move
	each := func(entries []managedfields.Entry, visit func(managedfields.Owner, fieldpath.Path)) {
		for _, e := range entries {
			fieldpath.Each(e.Fields, func(p fieldpath.Path) {
				if len(out) < keptPaths && (d.status || !isStatus(p)) {
					visit(e.Owner, p)
				}
			})
		}
	}
	each(d.gained, func(to managedfields.Owner, p fieldpath.Path) {
		if len(managedfields.HoldersOf(d.before, p)) == 0 {
			out = append(out, move{path: p.Clone(), to: handOf(to)})
			return
		}
		for _, e := range d.lost {
			if fieldpath.Holds(e.Fields, p) {
				out = append(out, move{path: p.Clone(), from: handOf(e.Owner), to: handOf(to), leaves: slices.Contains(d.dropped, e.Owner)})
				return
			}
		}
	})
	each(d.lost, func(from managedfields.Owner, p fieldpath.Path) {
		if len(managedfields.HoldersOf(d.after, p)) == 0 {
			out = append(out, move{path: p.Clone(), from: handOf(from), leaves: slices.Contains(d.dropped, from)})
		}
	})
	return out
}

func isStatus(p fieldpath.Path) bool {
	return len(p) > 0 && p[0].FieldName != nil && *p[0].FieldName == "status"
}

// writer returns the owner that made the write, or nil if the managed fields do not prove which one
// it was. The writer is the only owner that gained a path or, if no owner did, the only owner whose
// time changed. Times are in whole seconds, so a write soon after another may change neither paths
// nor times. In that case, the only owner with the latest time is the writer. A client that only
// removes other owners' fields leaves no trace.
func (d *difference) writer(is []metav1.ManagedFieldsEntry, since time.Duration) *managedfields.Owner {
	touched := slices.DeleteFunc(slices.Clone(d.touched), func(o managedfields.Owner) bool { return o.Manager == managedfields.BeforeFirstApply })
	switch {
	case len(touched) == 1:
		return &touched[0]
	case len(touched) > 1:
		return nil
	case len(d.timed) == 1:
		return &d.timed[0]
	case len(d.timed) > 1, len(d.lost) > 0, since > justNow:
		return nil
	}
	var latest []managedfields.Owner
	for i := range is {
		o := ownerOf(&is[i])
		switch {
		case o.Time.IsZero():
			return nil
		case len(latest) == 0 || o.Time.After(latest[0].Time):
			latest = []managedfields.Owner{o}
		case o.Time.Equal(latest[0].Time):
			latest = append(latest, o)
		}
	}
	if len(latest) != 1 {
		return nil
	}
	return &latest[0]
}

func (d *difference) ofStatus(is *metav1.PartialObjectMetadata) bool {
	all := slices.Concat(d.touched, d.timed)
	if len(all) == 0 { // A status write in the same second; any other write raises the generation.
		latest := slices.MaxFunc(append(slices.Clip(is.ManagedFields), metav1.ManagedFieldsEntry{}), func(a, b metav1.ManagedFieldsEntry) int {
			return ownerOf(&a).Time.Compare(ownerOf(&b).Time)
		})
		return len(d.lost) > 0 || is.Generation > 0 || latest.Subresource == "status"
	}
	return !slices.ContainsFunc(all, func(o managedfields.Owner) bool { return o.Subresource != "status" })
}
