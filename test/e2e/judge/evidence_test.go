package judge_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// evidence is all data for judging a statement on a path: each of its changes in etcd, the periods
// of the writes by the writers' clock, its record, and the gaps.
func (v *verdicts) evidence(l life, path string) string {
	var lines []string
	for _, revision := range l.revisions {
		if c, ok := l.changes[revision][path]; ok {
			lines = append(lines, fmt.Sprintf("happened at %s: %s, %s", revision, c, v.when(c.stamp)))
		}
	}
	for _, e := range v.entries[l.name] {
		if e.Path == path {
			lines = append(lines, fmt.Sprintf("recorded at %s: %s from %v to %v, %d times from %s to %s, gap: %v, user: %q",
				strings.Join(e.ResourceVersions, ", "), e.Kind, holders(e.From), holders(e.To), e.Count, e.First, e.Last, e.Gap, e.User))
		}
	}
	for _, g := range v.gaps {
		lines = append(lines, fmt.Sprintf("declared: not all is known from %s to %s", clock(g.From), clock(g.To)))
	}
	return "\t" + strings.Join(lines, "\n\t")
}

// attempts returns what a write took, and what it would have taken from each version that the API
// server may have tried first.
func (v *verdicts) attempts(l life, revision string, r receipt) string {
	var lines []string
	list := func(on string, changes map[string]change) {
		for _, path := range slices.Sorted(maps.Keys(changes)) {
			lines = append(lines, fmt.Sprintf("%s: %s %s", on, path, changes[path]))
		}
	}
	list("took at "+revision, l.changes[revision])
	for n, changes := range l.first[revision] {
		list(fmt.Sprintf("would have taken %d versions before", n+1), changes)
	}
	for _, text := range r.warnings {
		lines = append(lines, fmt.Sprintf("was told %q", text))
	}
	if !r.began.IsZero() {
		lines = append(lines, fmt.Sprintf("was under way from %s to %s", clock(r.began), clock(r.ended)))
	}
	return "\t" + strings.Join(lines, "\n\t")
}

func (c change) String() string { return fmt.Sprintf("%s from %v to %v", c.kind, c.before, c.after) }

// when returns the period of a write.
func (v *verdicts) when(stamp string) string {
	r, ok := v.receipts[stamp]
	if !ok {
		return fmt.Sprintf("by %q, of which there is no receipt", stamp)
	}
	text := fmt.Sprintf("by %s from %s to %s", stamp, clock(r.began), clock(r.ended))
	if r.err != nil {
		text += fmt.Sprintf(", which was told %v", r.err)
	}
	return text
}

// clock formats a time as in the webhook's log.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
