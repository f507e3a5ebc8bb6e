package plan

import (
	"errors"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// CycleError is a cycle of objects each of which needs the next, and the last the
// first: none of them can be applied before the others.
type CycleError struct {
	// Members of the cycle, starting with the first in the input.
	Members []Member
}

// Member is one object of a cycle.
type Member struct {
	Ref    object.Ref
	Source object.Source
}

func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("objects depend on each other in a cycle: ")
	for _, m := range e.Members {
		b.WriteString(m.Ref.String() + " (" + m.Source.String() + ") → ")
	}
	if len(e.Members) > 0 {
		b.WriteString(e.Members[0].Ref.String())
	}
	return b.String()
}

// Hint says what to do about it.
func (e *CycleError) Hint() string {
	return "an arrow means \"needs\"; remove one of them from a " + dependsOnAnnotation + " annotation"
}

// cycles finds cycles among the nodes that wait for each other: one for each
// strongly connected group, so that each error can be corrected on its own.
func (b *builder) cycles(waiting []int) error {
	var (
		faults []error
		path   []int // nodes from the start of the search to here
	)
	const unseen, onPath, seen = 0, 1, 2
	state := make([]int, len(b.nodes))
	reported := make([]bool, len(b.nodes))
	var visit func(i int)
	visit = func(i int) {
		state[i] = onPath
		path = append(path, i)
		for _, on := range b.nodes[i].needs {
			switch {
			case state[on] == onPath:
				faults = append(faults, b.cycle(path, on, reported))
			case state[on] == unseen && waiting[on] > 0:
				visit(on)
			}
		}
		path = path[:len(path)-1]
		state[i] = seen
	}
	for i := range b.nodes {
		if state[i] == unseen && waiting[i] > 0 {
			visit(i)
		}
	}
	return errors.Join(faults...)
}

// cycle returns the cycle that closes at a node of the path, or nil if a part of it
// has been reported already.
func (b *builder) cycle(path []int, at int, reported []bool) error {
	start := len(path) - 1
	for path[start] != at {
		start--
	}
	circle := path[start:]
	first := 0
	for k, i := range circle {
		if reported[i] {
			return nil
		}
		if i < circle[first] {
			first = k
		}
	}
	e := &CycleError{}
	for k := range circle {
		i := circle[(first+k)%len(circle)]
		n := b.nodes[i]
		reported[i] = true
		e.Members = append(e.Members, Member{Ref: n.Ref, Source: n.Source})
	}
	return e
}
