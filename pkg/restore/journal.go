package restore

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Journal notes what a run writes, object by object, so that it can be taken back. It may
// be used from many goroutines. The zero Journal is empty.
type Journal struct {
	mu    sync.Mutex
	order []object.Key
	notes map[object.Key]*Note
}

// Wrote notes that the object was written: before is as it was looked at right before, nil
// where there was none, and after as the server answered, nil where no answer came. Of
// several writes the first before counts, and the last after.
func (j *Journal) Wrote(item plan.Item, before, after *unstructured.Unstructured) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.note(item, before).After = after
}

// Removed notes that the object was deleted, or may have been.
func (j *Journal) Removed(item plan.Item, before *unstructured.Unstructured) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.note(item, before)
	n.Removed, n.After = true, nil
}

func (j *Journal) note(item plan.Item, before *unstructured.Unstructured) *Note {
	if j.notes == nil {
		j.notes = map[object.Key]*Note{}
	}
	n := j.notes[item.Key()]
	if n == nil {
		n = &Note{Ref: item.Ref, Kind: item.Kind, Before: before}
		j.notes[item.Key()] = n
		j.order = append(j.order, item.Key())
	}
	return n
}

// Notes returns what was written, in groups that can be taken back one after the other: the
// last phase of the plan first.
func (j *Journal) Notes(p *plan.Plan) [][]Note {
	j.mu.Lock()
	defer j.mu.Unlock()
	phaseOf := map[object.Key]int{}
	for i, ph := range p.Phases {
		for _, item := range ph.Items {
			phaseOf[item.Key()] = i
		}
	}
	groups := make([][]Note, len(p.Phases)+1)
	for _, key := range j.order {
		i, planned := phaseOf[key]
		if !planned { // Its namespace was settled on the way: its kind came late, and so did it.
			i = len(p.Phases)
		}
		groups[i] = append(groups[i], *j.notes[key])
	}
	slices.Reverse(groups)
	return slices.DeleteFunc(groups, func(g []Note) bool { return len(g) == 0 })
}
