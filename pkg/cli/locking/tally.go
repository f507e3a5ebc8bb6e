package locking

import (
	"fmt"
	"strings"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Tally counts the results of a run.
type Tally struct {
	mu     sync.Mutex
	counts map[event.Action]int
}

// Counting hands events on, and counts them.
func (t *Tally) Counting(emit func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		if a, ok := e.(event.Applied); ok {
			t.mu.Lock()
			if t.counts == nil {
				t.counts = map[event.Action]int{}
			}
			t.counts[a.Action]++
			t.mu.Unlock()
		}
		emit(e)
	}
}

// String returns the counts: 3 created, 57 unchanged.
func (t *Tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, action := range []event.Action{
		event.Created, event.Configured, event.Unchanged, event.InConflict, event.Failed, event.Skipped, event.Pruned,
	} {
		if n := t.counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	return strings.Join(parts, ", ")
}
