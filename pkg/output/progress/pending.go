package progress

import (
	"strings"
	"time"
)

// pending is what a run waits for or works on: the one that has lasted longest. A
// terminal and a log say it in the same words.
type pending struct {
	what string
	// since is when it began, zero if that is unknown; limit is how long it may take, 0
	// for as long as it needs.
	since time.Time
	limit time.Duration
	// lacks is what is still missing, or the reason; it may be empty.
	lacks string
	// others says what else is pending, and is the first part to be cut.
	others string
}

// worthTelling is how long a step without a limit lasts before it is reported.
const worthTelling = 3 * time.Second

// line says what the run waits for, how long out of how long, and what it lacks. The time
// comes before parts that may be long.
func (p pending) line(now time.Time) string {
	text := p.what
	switch elapsed := now.Sub(p.since); {
	case p.since.IsZero():
	case p.limit > 0 && elapsed < time.Second:
		text += " (up to " + lasting(p.limit) + ")"
	case p.limit > 0:
		text += " (" + lasting(elapsed) + " of " + lasting(p.limit) + ")"
	case elapsed >= worthTelling:
		text += " (" + lasting(elapsed) + ")"
	}
	if p.lacks != "" {
		text += ": " + p.lacks
	}
	return text + p.others
}

// over reports whether the time is up, so that something else is pending now.
func (p pending) over(now time.Time) bool {
	return p.limit > 0 && now.Sub(p.since) > p.limit
}

// lasting formats a duration as people say it: 45s, 5m, 1m30s.
func lasting(d time.Duration) string {
	text := max(0, d).Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
