package printer

import "slices"

// planOrdered collects values as they come and hands them out in the order of the
// plan. Those of one object keep the order in which they came.
type planOrdered[T any] struct {
	items []item[T]
}

type item[T any] struct {
	at    place
	value T
}

func (p *planOrdered[T]) add(at place, value T) {
	p.items = append(p.items, item[T]{at: at, value: value})
}

func (p *planOrdered[T]) drain() []T {
	slices.SortStableFunc(p.items, func(a, b item[T]) int { return a.at.compare(b.at) })
	values := make([]T, len(p.items))
	for i, it := range p.items {
		values[i] = it.value
	}
	p.items = nil
	return values
}
