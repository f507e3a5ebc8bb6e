package output

import "slices"

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
func (p *PlanOrdered[T]) Drain() []T {
	slices.SortStableFunc(p.items, func(a, b item[T]) int { return a.at.compare(b.at) })
	values := make([]T, len(p.items))
	for i, it := range p.items {
		values[i] = it.value
	}
	p.items = nil
	return values
}
