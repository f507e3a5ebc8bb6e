package output

import (
	"context"
	"math"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// Results writes the results of one verb in one format.
type Results interface {
	// Handle receives every event, in order.
	Handle(event.Event)
	// Flush is called at the end of each phase.
	Flush()
	// Finish is called once, at the end of the run.
	Finish(ctx context.Context) error
}

// Base is embedded in every format.
type Base struct {
	Options
	State  *State
	Screen *Screen
	Paint  Palette
	Hints  *format.Once
}

// NewBase returns the Base for all formats of one run.
func NewBase(o Options, s *State) Base {
	return Base{Options: o, State: s, Screen: &Screen{out: o.Out, err: o.Err}, Paint: NewPalette(o.Color), Hints: &format.Once{}}
}

// Beside returns a Base that writes line by line to stderr instead of stdout.
func (b Base) Beside() Base {
	b.Format, b.External = Table, nil
	b.Paint, b.Width = NewPalette(false), nil
	b.Screen = b.Screen.notes()
	return b
}

// Flush does nothing. Formats that write only at the end of the run inherit it.
func (Base) Flush() {}

// AtEnd returns Results that write each event of one type at the end of the run, in order.
func AtEnd[E event.Event](write func(E) error) Results {
	return Together(func(events []E) error {
		for _, e := range events {
			if err := write(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Printed returns Results that write the text of each event of one type to stdout at the end of the
// run, in order.
func Printed[E event.Event](b Base, text func(E) string) Results {
	return AtEnd(func(e E) error {
		b.Screen.Result(text(e))
		return nil
	})
}

// Together returns Results that write all events of one type at once, at the end of the run.
func Together[E event.Event](write func([]E) error) Results { return &together[E]{write: write} }

type together[E event.Event] struct {
	write  func([]E) error
	events []E
}

func (r *together[E]) Handle(e event.Event) {
	if one, ok := e.(E); ok {
		r.events = append(r.events, one)
	}
}

func (*together[E]) Flush() {}

func (r *together[E]) Finish(context.Context) error { return r.write(r.events) }

// PlanOrdered collects values for objects and returns them in plan order. Values for the same
// object stay in the order in which they were added.
type PlanOrdered[T any] struct {
	items []item[T]
}

type item[T any] struct {
	at    Place
	value T
}

// Add adds a value at a place in the plan.
func (p *PlanOrdered[T]) Add(at Place, value T) {
	p.items = append(p.items, item[T]{at: at, value: value})
}

// Drain returns and removes all values.
func (p *PlanOrdered[T]) Drain() []T { return p.DrainTo(math.MaxInt) }

// DrainTo returns and removes the values for the phases up to and including the given one.
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
