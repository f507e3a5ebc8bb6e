package progress

import (
	"strings"
	"time"
)

// pending is what the run waits for or works on. If that is several things, it is the longest one.
// Terminal and log describe it in the same words.
type pending struct {
	what string
	// since is when it began; zero if unknown. limit is how long it may take; 0 means no limit.
	since time.Time
	limit time.Duration
	// lacks is what is missing, or the reason; it may be empty.
	lacks string
	// others is what else is pending. It is truncated first.
	others string
}

// worthTelling is how long a step without a limit lasts before its duration is shown.
const worthTelling = 3 * time.Second

// line describes what the run waits for, for how long, and what is missing. The time precedes parts
// that may be long.
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

func (p pending) over(now time.Time) bool {
	return p.limit > 0 && now.Sub(p.since) > p.limit
}

// lasting formats a duration: 45s, 5m, 1m30s.
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
