package progress

import (
	"fmt"
	"math"
	"strings"
	"time"
)

func bar(done, total, width int) string {
	inner := width - len("[]")
	if total <= 0 || inner < 1 {
		return ""
	}
	// Any progress is visible, and the bar is full only when everything is done.
	filled := (min(done, total)*inner + total - 1) / total
	return "[" + strings.Repeat("=", max(0, filled-1)) + strings.Repeat(">", min(1, filled)) + strings.Repeat(" ", inner-filled) + "]"
}

const (
	// rateEvery is how often the rate is updated. More often, the figures would be unreadable.
	rateEvery = time.Second / 2
	// rateMemory is how far back the rate looks.
	rateMemory = 10 * time.Second
	// rateWidth is the width of the rate in columns.
	rateWidth = len(" 1234/s")
)

// rate measures how many objects end per second, with a higher weight for recent ones.
type rate struct {
	began, at time.Time
	done      int
	perSecond float64
}

func (r *rate) observe(done int, now time.Time) {
	if r.at.IsZero() || done < r.done { // Another run begins.
		*r = rate{began: now, at: now, done: done}
		return
	}
	elapsed := now.Sub(r.at)
	if elapsed < rateEvery {
		return
	}
	// At first, there are only few measurements.
	memory := min(rateMemory, now.Sub(r.began))
	weight := 1 - math.Exp(-elapsed.Seconds()/memory.Seconds())
	if r.at.Equal(r.began) {
		weight = 1
	}
	r.perSecond += weight * (float64(done-r.done)/elapsed.Seconds() - r.perSecond)
	r.at, r.done = now, done
}

func (r *rate) String() string {
	switch {
	case r.perSecond < 0.05:
		return ""
	case r.perSecond < 0.95:
		return fmt.Sprintf(" %4.1f/s", r.perSecond)
	default:
		return fmt.Sprintf(" %4.0f/s", r.perSecond)
	}
}
