package tracker

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// lost returns the gaps that the leader has to handle now, and whether the sink has to compare its
// records.
func (s *state) lost() (gaps []*pendingChange, blind bool) {
	if !s.leading {
		return nil, false
	}
	gaps = slices.Clone(s.gaps)
	return gaps, slices.ContainsFunc(gaps, func(m *pendingChange) bool { return m.gap.blind })
}

// dealt records that gaps were handled: the next checkpoint declares those that none has declared.
func (s *state) dealt(gaps []*pendingChange) {
	var news Coverage
	for _, m := range gaps {
		if !m.gap.declared && m.gap.Span != (Span{}) {
			news.Add(m.gap.Span)
		}
		m.gap.declared = true
	}
	s.counts.gaps += len(news.Gaps)
	s.undeclared.Add(news.Gaps...)
	s.gaps = without(s.gaps, func(m *pendingChange) bool { return slices.Contains(gaps, m) })
}

// gapSummary is the report on gaps of the same resource and the same reason.
type gapSummary struct {
	resource, why string
	changes       int
	from, to      time.Time
}

// summarize sums up gaps. It leaves out those without a span, which break no promise of
// history.
func summarize(gaps []*pendingChange) []gapSummary {
	sums := map[[2]string]gapSummary{}
	for _, m := range gaps {
		if m.gap.Span == (Span{}) {
			continue
		}
		key := [2]string{"", m.gap.why}
		if m.watched != nil {
			key[0] = m.resource.GroupResource().String()
		}
		sum, ok := sums[key]
		if !ok {
			sum = gapSummary{resource: key[0], why: key[1], from: m.gap.From, to: m.gap.To}
		}
		sum.changes++
		if m.gap.From.Before(sum.from) {
			sum.from = m.gap.From
		}
		sum.to = latest(sum.to, m.gap.To)
		sums[key] = sum
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b gapSummary) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.why, b.why))
	})
}
