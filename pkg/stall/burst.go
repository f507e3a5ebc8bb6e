package stall

import "time"

// calm is the least pause between two reports about the same object.
const calm = time.Second

// Burst spreads the reports about one object: a controller may write it fifty times in a
// moment. The zero value has reported nothing.
type Burst struct{ last time.Time }

// Left returns how long the next report has to wait; 0 means now, and counts it as made. A
// caller that waits reports the state at the end of the wait, not the one before it.
func (b *Burst) Left(now time.Time) time.Duration {
	if left := b.last.Add(calm).Sub(now); left > 0 && !b.last.IsZero() {
		return left
	}
	b.last = now
	return 0
}
