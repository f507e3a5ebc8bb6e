package restore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Journal records the writes of a run for a rollback. The zero Journal is empty and safe for
// concurrent use.
type Journal struct {
	mu    sync.Mutex
	order []object.Key
	notes map[object.Key]*entry
}

// entry is a note as JSON, which takes a tenth of the memory. Most journals are never read.
type entry struct {
	ref             object.Ref
	kind            object.Kind
	before, after   []byte
	removed, pruned bool
}

// OnWritten records a write. For each object, the journal keeps the state before the first write and
// the state after the last write; both arguments may be nil.
func (j *Journal) OnWritten(item plan.Item, before, after *unstructured.Unstructured) {
	was, is := textOf(before), textOf(after)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entry(item, was).after = is
}

// Removed records that the object was, or may have been, deleted.
func (j *Journal) Removed(item plan.Item, before *unstructured.Unstructured) {
	was := textOf(before)
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entry(item, was)
	e.removed, e.after = true, nil
}

// Pruned records that the object was, or may have been, deleted because it left its set.
func (j *Journal) Pruned(item plan.Item, before *unstructured.Unstructured) {
	was := textOf(before)
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.entry(item, was)
	e.removed, e.pruned = true, true
}

func (j *Journal) entry(item plan.Item, before []byte) *entry {
	if j.notes == nil {
		j.notes = map[object.Key]*entry{}
	}
	e := j.notes[item.Key()]
	if e == nil {
		e = &entry{ref: item.Ref, kind: item.Kind, before: before}
		j.notes[item.Key()] = e
		j.order = append(j.order, item.Key())
	}
	return e
}

func textOf(u *unstructured.Unstructured) []byte {
	if u == nil {
		return nil
	}
	text, _ := json.Marshal(u.Object)
	return text
}

// Notes returns the records in groups, in rollback order: pruned objects first, then the phases in
// reverse. pruned may be nil.
func (j *Journal) Notes(p, pruned *plan.Plan) ([][]Note, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	phaseOf := map[object.Key]int{}
	for i, ph := range p.Phases {
		for _, item := range ph.Items {
			phaseOf[item.Key()] = i
		}
	}
	last := len(p.Phases) // The last group has the objects whose key changed when their kind became known.
	groups := make([][]Note, last+1)
	if pruned != nil {
		groups = append(groups, make([][]Note, len(pruned.Phases))...)
		for i, ph := range pruned.Phases {
			for _, item := range ph.Items {
				phaseOf[item.Key()] = len(groups) - 1 - i
			}
		}
	}
	for _, key := range j.order {
		i, planned := phaseOf[key]
		if !planned {
			i = last
		}
		n, err := j.notes[key].read()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Ref, err)
		}
		groups[i] = append(groups[i], n)
	}
	slices.Reverse(groups)
	return slices.DeleteFunc(groups, func(g []Note) bool { return len(g) == 0 }), nil
}

func (e *entry) read() (Note, error) {
	n := Note{Ref: e.ref, Kind: e.kind, Removed: e.removed, Pruned: e.pruned}
	var err error
	if n.Before, err = objectOf(e.before); err != nil {
		return n, err
	}
	n.After, err = objectOf(e.after)
	return n, err
}

func objectOf(text []byte) (*unstructured.Unstructured, error) {
	if text == nil {
		return nil, nil
	}
	u := &unstructured.Unstructured{}
	return u, k8sjson.Unmarshal(text, &u.Object)
}

// unlessWritten replaces the step with Keep if others have written to the created object since.
func (n Note) unlessWritten(live *unstructured.Unstructured, manager string, step Step) (Step, error) {
	entries, err := managedfields.Entries(live)
	if err != nil {
		return Step{}, err
	}
	if len(entries) == 0 {
		for _, field := range slices.Sorted(maps.Keys(live.Object)) {
			if field != "metadata" && field != "status" && !fieldpath.Equal(live.Object[field], n.After.Object[field]) {
				return Step{Do: Keep, Why: "others have written to it since: ." + field}, nil
			}
		}
	}
	for _, e := range managedfields.Others(entries, manager) {
		if e.Manager == manager || e.Subresource != "" || managedfields.IsControlPlane(e.Manager) {
			continue
		}
		if paths := contentOf(e.Fields); len(paths) > 0 {
			return Step{Do: Keep, Why: e.Manager + " has written to it since: " + andMore(paths[0], len(paths)-1)}, nil
		}
	}
	return step, nil
}

// contentOf returns the leaves that users set. It ignores what controllers write to new objects,
// such as labels and the status.
func contentOf(set *fieldpath.Set) []fieldpath.Path {
	var paths []fieldpath.Path
	fieldpath.Each(set, func(p fieldpath.Path) {
		if hasBelow(set, p) || p[0].FieldName == nil {
			return
		}
		switch last := p[len(p)-1].FieldName; {
		case *p[0].FieldName == "metadata", *p[0].FieldName == "status", last != nil && *last == "caBundle":
		default:
			paths = append(paths, p.Clone())
		}
	})
	slices.SortFunc(paths, fieldpath.Path.Compare)
	return paths
}
