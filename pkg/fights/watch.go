// Package fights finds objects that are written in circles, from the metadata of their changes: who
// holds which path before and after each write. Start with [New], hand it each change of a watch by
// See, read the objects that Baselines and Unexplained name, and ask for the Result. It reads
// nothing itself, and names a writer only where managed fields prove it.
package fights

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// keptWrites of an object, and keptPaths of a write, are enough to see a circle.
	keptWrites, keptPaths = 64, 50
	// justNow is how long after a write its time, which has whole seconds, may still be that of the
	// next one.
	justNow = 2 * time.Second
)

// Change is one event of a watch.
type Change struct {
	// Event is its type: ADDED, MODIFIED or DELETED.
	Event string
	Kind  object.Kind
	// Before is the version of the kind before it.
	Before string
	At     time.Time
	Object *metav1.PartialObjectMetadata
}

// Tally collects changes. It is not safe for concurrent use.
type Tally struct {
	// status: changes of the status count as well.
	status  bool
	objects map[types.UID]*watched
	// stored and created count changes by kind.
	stored, created map[schema.GroupResource]int
}

// New returns an empty tally. With status, changes of the status count as well.
func New(status bool) *Tally {
	return &Tally{
		status: status, objects: map[types.UID]*watched{},
		stored: map[schema.GroupResource]int{}, created: map[schema.GroupResource]int{},
	}
}

// watched is an object that changes.
type watched struct {
	kind object.Kind
	ref  object.Ref
	// first is the state after the first change that was seen, and now that after the last.
	first, now *metav1.PartialObjectMetadata
	at         time.Time
	// writes counts those that are not apart; log has the last of them.
	writes int
	log    []write
}

// write is one change of an object.
type write struct {
	before, version string
	// writer is nil if unknown.
	writer *managedfields.Owner
	moves  []move
	steps  []step
	// unseen: what the object was before is unknown, as for the first change that was seen.
	unseen bool
	// read: steps has the changes of all values, and not only of labels and annotations.
	read bool
}

// hand holds a path; the zero value stands for none.
type hand struct{ manager, operation, subresource string }

func handOf(o managedfields.Owner) hand { return hand{o.Manager, o.Operation, o.Subresource} }

func (h hand) owner() *managedfields.Owner {
	return &managedfields.Owner{Manager: h.manager, Operation: h.operation, Subresource: h.subresource}
}

// move is a path that goes from one hand to another.
type move struct {
	path     fieldpath.Path
	from, to hand
	// leaves: the former owner holds nothing of the object any more.
	leaves bool
}

// step is a change of a value; an absent one is nil, and so is an unknown writer.
type step struct {
	path     fieldpath.Path
	from, to *any
	by       *managedfields.Owner
}

// credit names the writer of each step. Whoever changes a value owns it then, so its only owner is
// the writer; otherwise it is the one of the write.
func credit(steps []step, after []managedfields.Entry, writer *managedfields.Owner) {
	for i := range steps {
		steps[i].by = writer
		if holders := managedfields.HoldersOf(after, steps[i].path); len(holders) == 1 && steps[i].to != nil {
			steps[i].by = &holders[0]
		}
	}
}

// plain reports whether the metadata do not say what the write changed.
func (w *write) plain() bool {
	return len(w.moves)+len(w.steps) == 0 || w.unseen
}

// See takes one change.
func (t *Tally) See(c Change) {
	o, resource := c.Object, c.Kind.GVR().GroupResource()
	t.slim(o)
	switch c.Event {
	case "DELETED":
		delete(t.objects, o.UID)
		return
	case "ADDED":
		t.created[resource]++
	default:
		t.stored[resource]++
	}
	w := t.objects[o.UID]
	if w == nil {
		w = &watched{kind: c.Kind, ref: object.Ref{GVK: c.Kind.GVK, Namespace: o.Namespace, Name: o.Name}, first: o, now: o, at: c.At}
		t.objects[o.UID] = w
		if c.Event != "ADDED" {
			w.log = []write{{before: c.Before, version: o.ResourceVersion, unseen: true}}
		}
		return
	}
	one, counts := t.compare(w.now, o, c.At.Sub(w.at))
	w.now, w.at = o, c.At
	if !counts {
		return
	}
	one.before, one.version = c.Before, o.ResourceVersion
	w.writes++
	if len(w.log) >= keptWrites {
		w.log = slices.Delete(w.log, 0, 1)
	}
	w.log = append(w.log, one)
}

// slim replaces the larger parts, of which only changes matter, by digests.
func (t *Tally) slim(o *metav1.PartialObjectMetadata) {
	for i := range o.ManagedFields {
		e := &o.ManagedFields[i]
		if raw := rawOf(e); !t.status && e.Subresource == "status" && !bytes.Contains(raw, []byte(`"f:metadata"`)) {
			e.FieldsType, e.FieldsV1 = digested, metav1.NewFieldsV1(digest(raw))
		}
	}
	if text, has := o.Annotations[managedfields.LastAppliedAnnotation]; has {
		o.Annotations[managedfields.LastAppliedAnnotation] = digest([]byte(text))
	}
}

// digested is the FieldsType of fields that slim replaced.
const digested = "digest"

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// compare returns the write between two versions, and whether it counts.
func (t *Tally) compare(was, is *metav1.PartialObjectMetadata, since time.Duration) (write, bool) {
	var w write
	d, err := t.differ(was.ManagedFields, is.ManagedFields)
	if err != nil {
		return w, false
	}
	w.moves = d.moves()
	w.writer = d.writer(is.ManagedFields, since)
	w.steps = append(textSteps("labels", was.Labels, is.Labels), textSteps("annotations", was.Annotations, is.Annotations)...)
	if len(w.steps) > 0 {
		after, err := decodeAll(is.ManagedFields)
		if err != nil {
			return w, false
		}
		credit(w.steps, after, w.writer)
	}
	same := len(w.moves)+len(w.steps) == 0 && was.Generation == is.Generation && slices.Equal(was.Finalizers, is.Finalizers) &&
		len(was.OwnerReferences) == len(is.OwnerReferences) && (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil)
	return w, t.status || !same || !d.ofStatus(is)
}

func textSteps(field string, was, is map[string]string) []step {
	if maps.Equal(was, is) {
		return nil
	}
	var steps []step
	value := func(m map[string]string, name string) *any {
		if s, has := m[name]; has {
			var v any = s
			return &v
		}
		return nil
	}
	both := maps.Clone(was)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, is)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		from, to := value(was, name), value(is, name)
		if (from == nil || to == nil || *from != *to) && len(steps) < keptPaths {
			steps = append(steps, step{path: fieldpath.Field("metadata", field, name), from: from, to: to})
		}
	}
	return steps
}

// difference is how the managed fields of two versions differ.
type difference struct {
	before, after []managedfields.Entry
	// gained and lost are paths by owner, those of the status left out.
	gained, lost []managedfields.Entry
	// touched are owners that gained something, whatever it is; timed those whose time changed.
	touched, timed []managedfields.Owner
	dropped        []managedfields.Owner
	status         bool
}

// differ compares the entries of managed fields. It decodes only those that changed.
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
		if slices.ContainsFunc(is, func(o metav1.ManagedFieldsEntry) bool { return sameEntry(e, &o) }) {
			continue
		}
		if e.FieldsType == digested {
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

// moves returns the paths that came into another hand. A path that is only shared, or that one of
// several owners gives up, stays in a hand.
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

// writer returns who made the write, or nil if managed fields do not prove it: who gained a path,
// or whose time changed. Times have whole seconds, so a write right after another may change
// neither; then it is that of the only owner with the latest time. A client that only removes what
// others own leaves no trace.
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

// ofStatus reports whether a write that changes nothing else is one of the status.
func (d *difference) ofStatus(is *metav1.PartialObjectMetadata) bool {
	all := slices.Concat(d.touched, d.timed)
	if len(all) == 0 { // A status of the same second: whoever writes anything else raises the generation.
		latest := slices.MaxFunc(append(slices.Clip(is.ManagedFields), metav1.ManagedFieldsEntry{}), func(a, b metav1.ManagedFieldsEntry) int {
			return ownerOf(&a).Time.Compare(ownerOf(&b).Time)
		})
		return len(d.lost) > 0 || is.Generation > 0 || latest.Subresource == "status"
	}
	return !slices.ContainsFunc(all, func(o managedfields.Owner) bool { return o.Subresource != "status" })
}
