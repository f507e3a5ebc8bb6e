package tracker

import (
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
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
	// Gaps are sorted by their beginning. Gaps of different objects may overlap.
	Gaps   []Gap    `json:"gaps,omitempty"`
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

// Gap is a span with unknown transitions of the affected objects.
type Gap struct {
	Span
	Of ownership.Affected `json:"of,omitempty"`
}

// Add adds gaps. It merges those of the same objects, or only of deletions, that overlap, and the closest
// ones if there are too many. So it may declare too much, but never too little.
func (c *Coverage) Add(gaps ...Gap) {
	all := slices.Clone(c.Gaps)
	for _, g := range gaps {
		g.Span = g.onOneClock()
		all = append(all, g)
	}
	slices.SortStableFunc(all, func(a, b Gap) int { return a.From.Compare(b.From) })
	c.Gaps = nil
	for _, g := range all {
		g.Span = Span{g.From.UTC().Truncate(time.Second), g.To.UTC().Add(time.Second - 1).Truncate(time.Second)}
		i := slices.IndexFunc(c.Gaps, func(earlier Gap) bool {
			// A restart misses deletions of all kinds at once.
			same := earlier.Of.Equal(g.Of) || earlier.Of.OnlyDeletions() && g.Of.OnlyDeletions()
			return same && !g.From.After(earlier.To)
		})
		if i < 0 {
			c.Gaps = append(c.Gaps, g)
			continue
		}
		c.Gaps[i].To, c.Gaps[i].Of = latest(c.Gaps[i].To, g.To), c.Gaps[i].Of.And(g.Of)
	}
	for len(c.Gaps) > maxGaps || c.affected() > maxAffected {
		closest := 1
		for i := 2; i < len(c.Gaps); i++ {
			if c.gapBefore(i) < c.gapBefore(closest) {
				closest = i
			}
		}
		if len(c.Gaps) == 1 {
			break
		}
		into, from := &c.Gaps[closest-1], c.Gaps[closest]
		into.To, into.Of = latest(into.To, from.To), into.Of.And(from.Of)
		c.Gaps = slices.Delete(c.Gaps, closest, closest+1)
	}
}

// maxAffected limits the number of UIDs in all gaps, because a ConfigMap holds at most a megabyte.
const maxAffected = 4096

func (c *Coverage) affected() (n int) {
	for _, g := range c.Gaps {
		n += g.Of.Len()
	}
	return n
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

// gapBefore returns the time between a gap and the one before it. A gap of a few objects is merged with
// one of all objects only if nothing else is left to merge.
func (c *Coverage) gapBefore(i int) time.Duration {
	apart := c.Gaps[i].From.Sub(c.Gaps[i-1].To)
	if (c.Gaps[i].Of == nil) != (c.Gaps[i-1].Of == nil) {
		apart += 365 * 24 * time.Hour
	}
	return apart
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
