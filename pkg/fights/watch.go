// Package fights finds objects whose writes go around in circles. It works from the metadata of
// each change: which owner holds which path before and after the write. Start with [New], pass each
// change of a watch to See, read the objects that Baselines and Unexplained return, and call
// Result. The package itself reads nothing, and names a writer only if managed fields prove it.
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
	// keptWrites (for each object) and keptPaths (for each write) are enough to recognize a loop.
	keptWrites, keptPaths = 64, 50
	// Times are in whole seconds, so two writes with the same time may be observed up to justNow
	// apart.
	justNow = 2 * time.Second
)

// Change is one event of a watch.
type Change struct {
	// Event is the type of the event: ADDED, MODIFIED or DELETED.
	Event string
	Kind  object.Kind
	// Before is the resource version before the change.
	Before string
	At     time.Time
	Object *metav1.PartialObjectMetadata
}

// Tally collects changes. It is not safe for concurrent use.
type Tally struct {
	status          bool // include changes to the status
	objects         map[types.UID]*watched
	stored, created map[schema.GroupResource]int
}

// New returns an empty tally. If status is set, the tally includes changes to the status.
func New(status bool) *Tally {
	return &Tally{
		status: status, objects: map[types.UID]*watched{},
		stored: map[schema.GroupResource]int{}, created: map[schema.GroupResource]int{},
	}
}

type watched struct {
	kind object.Kind
	ref  object.Ref
	// first and now are the object's states after the first and the last observed change.
	first, now *metav1.PartialObjectMetadata
	at         time.Time
	// writes counts all relevant writes; log keeps only the latest ones.
	writes int
	log    []write
}

type write struct {
	at              time.Time
	before, version string
	writer          *managedfields.Owner // nil if unknown
	moves           []move
	steps           []step
	// unseen means that the state before the write is unknown, as for the first observed change.
	unseen bool
	// read means that the steps cover all values, not just labels and annotations.
	read bool
}

// hand is an owner without a time or version; the zero value means no owner.
type hand struct{ manager, operation, subresource string }

func handOf(o managedfields.Owner) hand { return hand{o.Manager, o.Operation, o.Subresource} }

func (h hand) owner() *managedfields.Owner {
	return &managedfields.Owner{Manager: h.manager, Operation: h.operation, Subresource: h.subresource}
}

type move struct {
	path     fieldpath.Path
	from, to hand
	// leaves means that the former owner has no fields left in the object.
	leaves bool
}

// step is one change of a value. An absent value is nil, as is an unknown writer.
type step struct {
	path     fieldpath.Path
	from, to *any
	by       *managedfields.Owner
}

// credit sets the writer of each step. A client that changes a value becomes an owner of it. So if
// the path has a single owner, the step's writer is that owner; otherwise it is the writer of the
// whole write.
func credit(steps []step, after []managedfields.Entry, writer *managedfields.Owner) {
	for i := range steps {
		steps[i].by = writer
		if holders := managedfields.HoldersOf(after, steps[i].path); len(holders) == 1 && steps[i].to != nil {
			steps[i].by = &holders[0]
		}
	}
}

func (w *write) plain() bool {
	return len(w.moves)+len(w.steps) == 0 || w.unseen
}

// See adds one change.
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
			w.log = []write{{at: c.At, before: c.Before, version: o.ResourceVersion, unseen: true}}
		}
		return
	}
	one, counts := t.compare(w.now, o, c.At.Sub(w.at))
	w.now, w.at = o, c.At
	if !counts {
		return
	}
	one.at, one.before, one.version = c.At, c.Before, o.ResourceVersion
	w.writes++
	if len(w.log) >= keptWrites {
		w.log = slices.Delete(w.log, 0, 1)
	}
	w.log = append(w.log, one)
}

// slim replaces large parts with digests, because all that matters is whether these parts change.
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

const digested = "digest"

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// compare finds out from the metadata of two versions who has written what. It reports false for a write of
// the status alone, unless those are counted.
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
