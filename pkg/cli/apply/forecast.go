package apply

import (
	"fmt"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// forecasting returns a function that passes events to emit, and warns once if the run will not
// finish before the deadline. A zero end means that there is no deadline.
func forecasting(end time.Time, emit func(event.Event)) func(event.Event) {
	if end.IsZero() {
		return emit
	}
	f := newForecast(end)
	return func(e event.Event) {
		emit(e)
		if short, ok := f.observe(time.Now(), e); ok {
			emit(event.Warned{Text: fmt.Sprintf(
				"at this pace, about %d of %d objects will be applied before --timeout expires in %s; the next run will apply the rest",
				short.Done, short.Total, short.Left.Round(time.Second))})
		}
	}
}

type shortfall struct {
	// Done is the number of objects that will be finished by the deadline, and Total is the number
	// of all objects.
	Done, Total int
	Left        time.Duration
}

type forecast struct {
	end time.Time

	phases             []event.Phase
	current            int
	total, done, inner int
	// open holds the objects in progress.
	open             map[object.Key]bool
	written, settled int
	// ends lists the times at which objects were finished, in working time: waits between phases do
	// not affect the pace.
	ends   []time.Duration
	worked time.Duration
	since  time.Time
	// short is set while the run is too slow: it is the working time at which that began.
	short    *time.Duration
	reported bool
}

func newForecast(end time.Time) *forecast {
	return &forecast{end: end, open: map[object.Key]bool{}}
}

// observe returns true once, when the run is found to be too slow.
func (f *forecast) observe(now time.Time, e event.Event) (shortfall, bool) {
	switch e := e.(type) {
	case event.Planned:
		f.phases, f.current, f.total = e.Phases, -1, 0
		for _, phase := range e.Phases {
			f.total += phase.Total
		}
	case event.PhaseStarted:
		f.current, f.inner, f.since = e.Index, 0, now
	case event.Started:
		f.open[e.Ref.Key()] = true
	case event.Applied:
		return f.applied(now, e)
	}
	return shortfall{}, false
}

func (f *forecast) applied(now time.Time, e event.Applied) (shortfall, bool) {
	const (
		// An estimate needs at least this much working time or, for a short deadline, a twentieth
		// of the deadline.
		least  = 5 * time.Second
		enough = 20
		// recent is the shortest time over which a pace is measured.
		recent = 2 * time.Second
		// tolerance is the shortfall that is ignored, in percent of the remaining objects.
		tolerance = 10
	)
	f.done++
	f.inner++
	key := e.Ref.Key()
	if !f.open[key] {
		f.settled++
		return shortfall{}, false
	}
	delete(f.open, key)
	f.written++
	f.worked += now.Sub(f.since)
	f.since = now
	f.ends = append(f.ends, f.worked)
	left := f.end.Sub(now)
	evidence := min(least, (left+f.worked)/20)
	if f.reported || f.written < enough || f.worked < evidence || left <= evidence || e.Action == event.Skipped {
		return shortfall{}, false
	}
	need, possible := f.need(), f.pace(min(recent, evidence))*left.Seconds()
	switch {
	case possible >= need*(100-tolerance)/100:
		f.short = nil
		return shortfall{}, false
	case f.short == nil:
		began := f.worked
		f.short = &began
	}
	if f.worked-*f.short < evidence {
		return shortfall{}, false
	}
	f.reported = true
	remaining := float64(f.total - f.done)
	return shortfall{Done: f.done + int(remaining*possible/need), Total: f.total, Left: left}, true
}

// pace returns the objects finished per second in the last quarter of the working time.
func (f *forecast) pace(shortest time.Duration) float64 {
	window := min(f.worked, max(shortest, f.worked/4))
	from, _ := slices.BinarySearch(f.ends, f.worked-window)
	return float64(len(f.ends)-from) / window.Seconds()
}

// need estimates how many objects are left to write. It assumes that later phases write the same
// share of objects.
func (f *forecast) need() float64 {
	here := 0
	if f.current >= 0 && f.current < len(f.phases) {
		here = max(0, f.phases[f.current].Total-f.inner)
	}
	later := max(0, f.total-f.done-here)
	share := float64(f.written) / float64(f.written+f.settled)
	return float64(here) + float64(later)*share
}
