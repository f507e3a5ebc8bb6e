package lock

import "time"

// Moment is one reading of both clocks of a machine. Neither alone shows how much time
// has passed: the monotonic one may stop while the machine sleeps, and the other one can
// be set.
type Moment struct {
	// Mono is the monotonic clock, from any beginning.
	Mono time.Duration
	// Wall is the machine's time of day.
	Wall time.Time
}

// setBack is how far the time of day may fall behind the monotonic clock before the clock
// counts as set. Clocks that are kept in sync are slewed by less.
const setBack = time.Second

// since returns how much time has passed since an earlier moment, at least: the greater
// of what both clocks say. known is false if the time of day was set back, because it
// then does not show how long the machine has slept.
func (m Moment) since(earlier Moment) (passed time.Duration, known bool) {
	mono, wall := m.Mono-earlier.Mono, m.Wall.Sub(earlier.Wall)
	return max(mono, wall), wall >= mono-setBack
}

// clock returns a look at the clocks of this machine.
func clock() func() Moment {
	start := time.Now()
	return func() Moment {
		now := time.Now()
		mono, ok := sinceBoot()
		if !ok {
			mono = now.Sub(start)
		}
		return Moment{Mono: mono, Wall: now.Round(0)} // Round takes the monotonic reading off.
	}
}
