package tracker

import (
	"slices"
	"time"
)

// maxGaps limits the number of declared gaps. Beyond it, the two closest gaps are merged into one,
// which also covers the time between them.
const maxGaps = 32

// Checkpoint is the position from which a new tracker can start without missing anything.
type Checkpoint struct {
	// Of is the UID of the ConfigMap. A copy in another cluster has another UID, and is ignored.
	Of string `json:"of"`
	// Heard is when the API server last sent something about any resource. A bookmark arrives every
	// minute, so Heard shows that the webhook is running.
	Heard time.Time `json:"heard,omitzero"`
	// Seen is the time of the first noted change that is not recorded; zero if there is none.
	Seen time.Time `json:"seen,omitzero"`
	// Compare means that the records must be compared with the live owners because of a gap.
	Compare bool `json:"compare,omitempty"`
	// Resources maps resources, such as "deployments.apps", to positions.
	Resources map[string]position `json:"resources"`
}

type position struct {
	Version string `json:"version"`
	// Time is earlier than every change after Version, so that a gap that begins here does not
	// begin too late.
	Time time.Time `json:"time"`
}

// Coverage is the period for which the history is known.
type Coverage struct {
	Since time.Time `json:"since"`
	// Gaps are spans with unknown transitions, sorted and disjoint.
	Gaps   []Span   `json:"gaps,omitempty"`
	Behind *Backlog `json:"behind,omitempty"`
}

// Backlog describes changes that have been waiting for a while to be recorded.
type Backlog struct {
	Changes int `json:"changes"`
	// Since is when the oldest of these changes was seen.
	Since time.Time `json:"since"`
}

// Span is a period of time.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Add adds gaps, and merges those that overlap.
func (c *Coverage) Add(gaps ...Span) {
	all := slices.Clone(c.Gaps)
	for _, g := range gaps {
		all = append(all, g.onOneClock())
	}
	slices.SortFunc(all, func(a, b Span) int { return a.From.Compare(b.From) })
	c.Gaps = nil
	for _, g := range all {
		g = Span{g.From.UTC().Truncate(time.Second), g.To.UTC().Add(time.Second - 1).Truncate(time.Second)}
		if last := len(c.Gaps) - 1; last >= 0 && !g.From.After(c.Gaps[last].To) {
			if g.To.After(c.Gaps[last].To) {
				c.Gaps[last].To = g.To
			}
			continue
		}
		c.Gaps = append(c.Gaps, g)
	}
	for len(c.Gaps) > maxGaps {
		closest := 1
		for i := 2; i < len(c.Gaps); i++ {
			if c.between(i) < c.between(closest) {
				closest = i
			}
		}
		c.Gaps[closest-1].To = c.Gaps[closest].To
		c.Gaps = slices.Delete(c.Gaps, closest, closest+1)
	}
}

// onOneClock repairs a span that ends before it begins because a clock was set back in the
// meantime. If From is d after To, the repaired span is from To-d to From.
func (s Span) onOneClock() Span {
	// Drop the monotonic clock reading, because stored times have none.
	s.From, s.To = s.From.Round(0), s.To.Round(0)
	if s.From.After(s.To) {
		return Span{s.To.Add(-s.From.Sub(s.To)), s.From}
	}
	return s
}

// LastGap returns when the last gap ended; zero if there is none.
func (c *Coverage) LastGap() (end time.Time) {
	for _, g := range c.Gaps {
		end = latest(end, g.To)
	}
	return end
}

func (c *Coverage) between(i int) time.Duration { return c.Gaps[i].From.Sub(c.Gaps[i-1].To) }

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
