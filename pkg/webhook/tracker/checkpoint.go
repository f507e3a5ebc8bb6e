package tracker

import (
	"slices"
	"time"
)

// maxGaps is how many gaps are kept. Of more, those become one that are closest to each
// other: then more is declared than is missing, and never less.
const maxGaps = 32

// Checkpoint says from where a start loses nothing.
type Checkpoint struct {
	// Of is the UID of the object that the checkpoint is kept in. A copy of it, in
	// another cluster, is no checkpoint.
	Of string `json:"of"`
	// Resources has the position of each, by "deployments.apps".
	Resources map[string]position `json:"resources"`
}

// Coverage says of what time the history is known.
type Coverage struct {
	Since time.Time `json:"since"`
	// Gaps are spans of which not every transition is known, oldest first, none
	// touching another.
	Gaps []Span `json:"gaps,omitempty"`
	// Behind, if set, is what was seen and is not recorded yet.
	Behind *Backlog `json:"behind,omitempty"`
}

// Backlog is what was seen for some time and is not recorded yet.
type Backlog struct {
	// Changes of objects that wait.
	Changes int `json:"changes"`
	// Since when the oldest of them waits.
	Since time.Time `json:"since"`
}

// Span is a span of time.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Add declares gaps.
func (c *Coverage) Add(gaps ...Span) {
	all := slices.Concat(c.Gaps, gaps)
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

// between is how long all was known between a gap and the one before it.
func (c *Coverage) between(i int) time.Duration { return c.Gaps[i].From.Sub(c.Gaps[i-1].To) }
