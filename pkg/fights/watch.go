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
