package output

import (
	"math"
	"slices"
)

// PlanOrdered collects values as they come and returns them in the order of the plan.
// Those of one object keep the order in which they came.
type PlanOrdered[T any] struct {
	items []item[T]
}

type item[T any] struct {
	at    Place
	value T
}

// Add keeps a value that belongs to a place in the plan.
func (p *PlanOrdered[T]) Add(at Place, value T) {
	p.items = append(p.items, item[T]{at: at, value: value})
}

// Drain returns everything that was added so far, once.
func (p *PlanOrdered[T]) Drain() []T { return p.DrainTo(math.MaxInt) }

// DrainTo is Drain for what belongs to this phase, or an earlier one.
func (p *PlanOrdered[T]) DrainTo(phase int) []T {
	later := slices.DeleteFunc(slices.Clone(p.items), func(it item[T]) bool { return it.at.Phase <= phase })
	p.items = slices.DeleteFunc(p.items, func(it item[T]) bool { return it.at.Phase > phase })
	slices.SortStableFunc(p.items, func(a, b item[T]) int { return a.at.compare(b.at) })
	values := make([]T, len(p.items))
	for i, it := range p.items {
		values[i] = it.value
	}
	p.items = later
	return values
}
