package owners

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Question specifies what a survey reports. The zero Question asks only for counts.
type Question struct {
	// Managers lists the managers whose fields are counted; nil counts all.
	Managers []string
	// From lists the managers whose objects are listed.
	From []string
	// Expected lists patterns for [path.Match]; nil means that all managers are expected. The
	// status and this plugin's own records are always expected.
	Expected []string
	// Served reports whether the server serves a kind at a version; nil means that it serves all.
	Served func(schema.GroupVersionKind) bool
}

func (q *Question) expects(manager string) bool {
	if q.Expected == nil || managedfields.IsBookkeeper(manager) {
		return true
	}
	return slices.ContainsFunc(q.Expected, func(pattern string) bool {
		match, err := path.Match(pattern, manager)
		return pattern == manager || err == nil && match
	})
}

func (q *Question) counts(manager string) bool {
	return q.Managers == nil || slices.Contains(q.Managers, manager)
}

// Counter counts the owners of many objects. It is not safe for concurrent use: give each goroutine
// its own Counter, and merge them.
type Counter struct {
	question   Question
	objects    int
	unmanaged  int
	rows       map[rowKey]*row
	managers   map[managerKey]*row
	unserved   map[rowKey]int
	unexpected []event.ObjectHolding
	leaving    []event.ObjectHolding
	unread     []event.Unread
	names      map[string]event.FieldName
	// seen contains all managers that have an entry, even those that are not counted.
	seen map[string]bool
}

type rowKey struct {
	owner managedfields.Owner
	kind  schema.GroupKind
}

type managerKey struct {
	manager string
	kind    schema.GroupKind
}

type row struct {
	objects int
	fields  event.Fields
}

func (r *row) add(objects int, fields event.Fields) {
	r.objects += objects
	r.fields = r.fields.Plus(fields)
}

// New returns an empty counter.
func New(q Question) *Counter {
	return &Counter{
		question: q, rows: map[rowKey]*row{}, managers: map[managerKey]*row{}, unserved: map[rowKey]int{},
		names: map[string]event.FieldName{}, seen: map[string]bool{},
	}
}

// Add counts an object. If its managed fields cannot be decoded, it reports the object as unread.
func (c *Counter) Add(ref object.Ref, fields []metav1.ManagedFieldsEntry) {
	entries, err := managedfields.EntriesOf(fields)
	if err != nil {
		c.Miss(event.Unread{Ref: ref, Err: err})
		return
	}
	c.objects++
	if len(entries) == 0 {
		c.unmanaged++
		return
	}
	kind := ref.GVK.GroupKind()
	c.countVersions(kind, entries)
	for _, m := range managersOf(entries) {
		c.seen[m.name] = true
		if !c.question.counts(m.name) {
			continue
		}
		for _, owner := range m.owners {
			held := tally(owner.fields, m.others, nil)
			at(c.rows, rowKey{owner.owner, kind}).add(1, held)
		}
		c.countManager(ref, m)
	}
}

func (c *Counter) countManager(ref object.Ref, m manager) {
	leaves := slices.Contains(c.question.From, m.name)
	var sole []event.FieldName
	var reported func(walked)
	if leaves {
		reported = func(w walked) {
			if !w.shared {
				sole = append(sole, c.intern(w.path.String()))
			}
		}
	}
	held := tally(m.fields, m.others, reported)
	at(c.managers, managerKey{m.name, ref.GVK.GroupKind()}).add(1, held)
	if leaves {
		slices.Sort(sole)
		c.leaving = append(c.leaving, event.ObjectHolding{Ref: ref, Manager: m.name, Fields: held, Paths: sole})
	}
	if !c.question.expects(m.name) {
		c.surprise(ref, m)
	}
}

func (c *Counter) surprise(ref object.Ref, m manager) {
	mark := fieldpath.Field("metadata", "labels", "applyset.kubernetes.io/part-of")
	var paths []event.FieldName
	var fields event.Fields
	tally(m.written, m.others, func(w walked) {
		if w.status || w.path.Equal(mark) {
			return
		}
		fields.All++
		if w.shared {
			fields.Shared++
		}
		paths = append(paths, c.intern(w.path.String()))
	})
	if fields.All > 0 {
		slices.Sort(paths)
		c.unexpected = append(c.unexpected, event.ObjectHolding{Ref: ref, Manager: m.name, Fields: fields, Paths: paths})
	}
}

func (c *Counter) countVersions(kind schema.GroupKind, entries []managedfields.Entry) {
	if c.question.Served == nil {
		return
	}
	seen := map[rowKey]bool{}
	for _, e := range entries {
		owner := e.Owner
		owner.Time = time.Time{}
		key := rowKey{owner, kind}
		if !seen[key] && c.question.counts(e.Manager) && !c.question.Served(schema.FromAPIVersionAndKind(e.APIVersion, kind.Kind)) {
			c.unserved[key]++
			seen[key] = true
		}
	}
}

// Miss records that a kind or object could not be read.
func (c *Counter) Miss(unread event.Unread) { c.unread = append(c.unread, unread) }

// Merge adds the counts of another counter that has the same question.
func (c *Counter) Merge(other *Counter) {
	c.objects += other.objects
	c.unmanaged += other.unmanaged
	for key, r := range other.rows {
		at(c.rows, key).add(r.objects, r.fields)
	}
	for key, r := range other.managers {
		at(c.managers, key).add(r.objects, r.fields)
	}
	for key, n := range other.unserved {
		c.unserved[key] += n
	}
	maps.Copy(c.seen, other.seen)
	c.unexpected = append(c.unexpected, other.unexpected...)
	c.leaving = append(c.leaving, other.leaving...)
	c.unread = append(c.unread, other.unread...)
}

// Result returns the counts so far, the largest first, with objects sorted by name.
func (c *Counter) Result() event.Surveyed {
	s := event.Surveyed{
		Objects: c.objects, Unmanaged: c.unmanaged, From: c.question.From, Expecting: c.question.Expected != nil, Seen: slices.Sorted(maps.Keys(c.seen)),
		Unexpected: slices.SortedFunc(slices.Values(c.unexpected), byObject),
		Leaving:    slices.SortedFunc(slices.Values(c.leaving), byObject),
		Unread:     slices.SortedFunc(slices.Values(c.unread), func(a, b event.Unread) int { return a.Ref.Compare(b.Ref) }),
	}
	for key, r := range c.rows {
		s.Holdings = append(s.Holdings, event.KindHolding{Owner: key.owner, Kind: key.kind, Objects: r.objects, Fields: r.fields})
	}
	byManager := map[string]*event.ManagerHolding{}
	for key, r := range c.managers {
		m, known := byManager[key.manager]
		if !known {
			surprise := slices.ContainsFunc(c.unexpected, func(h event.ObjectHolding) bool { return h.Manager == key.manager })
			m = &event.ManagerHolding{Manager: key.manager, Expected: !surprise}
			byManager[key.manager] = m
		}
		m.Kinds++
		m.Objects += r.objects
		m.Fields = m.Fields.Plus(r.fields)
	}
	for _, m := range byManager {
		s.Managers = append(s.Managers, *m)
	}
	for key, n := range c.unserved {
		s.Unserved = append(s.Unserved, event.VersionHolding{Owner: key.owner, Kind: key.kind, Objects: n})
	}
	slices.SortFunc(s.Managers, func(a, b event.ManagerHolding) int {
		return cmp.Or(cmp.Compare(b.Fields.All, a.Fields.All), cmp.Compare(a.Manager, b.Manager))
	})
	slices.SortFunc(s.Holdings, func(a, b event.KindHolding) int {
		return cmp.Or(cmp.Compare(b.Fields.All, a.Fields.All), a.Owner.Compare(b.Owner), byKind(a.Kind, b.Kind))
	})
	slices.SortFunc(s.Unserved, func(a, b event.VersionHolding) int {
		return cmp.Or(byKind(a.Kind, b.Kind), a.Owner.Compare(b.Owner))
	})
	return s
}

func byObject(a, b event.ObjectHolding) int {
	return cmp.Or(a.Ref.Compare(b.Ref), cmp.Compare(a.Manager, b.Manager))
}

func byKind(a, b schema.GroupKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
}

func (c *Counter) intern(text string) event.FieldName {
	name, known := c.names[text]
	if !known {
		name = event.FieldName(text)
		c.names[text] = name
	}
	return name
}

func at[K comparable](rows map[K]*row, key K) *row {
	r, known := rows[key]
	if !known {
		r = &row{}
		rows[key] = r
	}
	return r
}
