package fights

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Reading names an object whose earlier versions should be read.
type Reading struct {
	UID      types.UID
	Kind     object.Kind
	Ref      object.Ref
	Versions []string
}

// Baselines returns objects whose metadata should also be read as it was before the first observed
// change. It returns at most the given number. It omits objects with many writes, because those
// writes reveal enough.
func (t *Tally) Baselines(most int) []Reading {
	const few = 8
	var out []Reading
	for _, w := range t.busiest(func(w *watched) bool {
		_, found := t.judge(w)
		return len(w.log) > 1 && len(w.log) <= few && w.log[0].unseen && !found && !w.builtIn()
	}, most) {
		out = append(out, Reading{w.now.UID, w.kind, w.ref, []string{w.log[0].before}})
	}
	return out
}

// Baseline adds an object's metadata from before its first observed change.
func (t *Tally) Baseline(uid types.UID, before *metav1.PartialObjectMetadata) {
	w := t.objects[uid]
	if w == nil || len(w.log) == 0 || !w.log[0].unseen || before.UID != uid {
		return
	}
	t.slim(before)
	one, counts := t.compare(before, w.first, 0)
	if !counts {
		w.log = w.log[1:]
		return
	}
	one.at, one.before, one.version = w.log[0].at, w.log[0].before, w.log[0].version
	w.log[0] = one
	w.writes++
}

const readWrites = 8

// Unexplained returns the objects to read in full: those with several owners, and those with writes
// that the metadata does not explain. It returns at most the given number of each group. beyond is
// the number of objects omitted from the second group.
func (t *Tally) Unexplained(most int) (read []Reading, beyond int) {
	two := func(w *watched) bool {
		f, found := t.judge(w)
		return found && f.Class == event.SeveralOwners
	}
	one := func(w *watched) bool {
		return !two(w) && w.plainWrites() > 1
	}
	all := t.busiest(one, len(t.objects))
	beyond = max(0, len(all)-most)
	for _, w := range append(t.busiest(two, most), all[:min(most, len(all))]...) {
		last := w.log[max(0, len(w.log)-readWrites):]
		r := Reading{w.now.UID, w.kind, w.ref, []string{last[0].before}}
		for i := range last {
			r.Versions = append(r.Versions, last[i].version)
		}
		read = append(read, r)
	}
	return read, beyond
}

func (w *watched) plainWrites() int {
	n := 0
	if w.builtIn() {
		return 0
	}
	for i := range w.log {
		if w.log[i].plain() && !w.follows(w.log[i].writer) {
			n++
		}
	}
	return n
}

// busiest returns the objects with the most writes, up to the given number. Objects without managed
// fields come last, because their writes include status writes.
func (t *Tally) busiest(of func(*watched) bool, most int) []*watched {
	var all []*watched
	for _, w := range t.objects {
		if of(w) {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *watched) int {
		return cmp.Or(min(1, len(b.now.ManagedFields))-min(1, len(a.now.ManagedFields)), b.writes-a.writes, a.ref.Compare(b.ref))
	})
	return all[:min(len(all), most)]
}

// Learn adds an object's states at successive versions. An unknown state is nil.
func (t *Tally) Learn(r Reading, states []*unstructured.Unstructured) {
	w := t.objects[r.UID]
	if w == nil {
		return
	}
	for i := 1; i < len(states); i++ {
		at := slices.IndexFunc(w.log, func(one write) bool { return one.version == r.Versions[i] })
		if at < 0 || states[i] == nil || states[i-1] == nil || states[i].GetUID() != r.UID || states[i-1].GetUID() != r.UID {
			continue
		}
		one := &w.log[at]
		steps, statusToo := t.steps(states[i-1], states[i], one.writer)
		one.steps, one.read = steps, len(steps) > 0 || !statusToo
		one.unseen = false
	}
}

// steps returns the changes between two states, and whether the status changed too. Bookkeeping of the API
// server changes with each write and proves nothing.
func (t *Tally) steps(before, after *unstructured.Unstructured, writer *managedfields.Owner) (steps []step, status bool) {
	was, err := managedfields.Entries(before)
	is, err2 := managedfields.Entries(after)
	if err != nil || err2 != nil {
		return nil, true
	}
	set := fieldpath.NewSet(fieldpath.Field("metadata", "uid"))
	for _, e := range slices.Concat(was, is) {
		set = set.Union(e.Fields)
	}
	for _, c := range managedfields.Compare(before.Object, after.Object, set) {
		switch {
		case len(c.Path) > 1 && *c.Path[0].FieldName == "metadata" &&
			slices.Contains([]string{"managedFields", "resourceVersion", "generation"}, *c.Path[1].FieldName):
			continue
		case isStatus(c.Path) && !t.status:
			status = true
			continue
		case len(steps) >= keptPaths:
			continue
		}
		s := step{path: c.Path}
		if c.Kind != managedfields.Added {
			s.from = &c.From
		}
		if c.Kind != managedfields.Removed {
			s.to = &c.To
		}
		steps = append(steps, s)
	}
	credit(steps, is, writer)
	return steps, status
}
