package stall

import "time"

// calm is the least pause between two times that the same is told of.
const calm = time.Second

// Burst spreads what is told of one object: a controller may write it fifty times in a
// moment. The zero value has told nothing.
type Burst struct{ last time.Time }

// Left is how long nothing is to be told yet; 0 means now, and takes it that it is told.
// Whoever waits tells what is so by then, and not what was so before.
func (b *Burst) Left(now time.Time) time.Duration {
	if left := b.last.Add(calm).Sub(now); left > 0 && !b.last.IsZero() {
		return left
	}
	b.last = now
	return 0
}
