package condition

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// fields reads an object that may be anything: what is not there, or of another
// type than it should be, reads as its zero value.
type fields map[string]any

func (f fields) at(names ...string) any {
	var value any = map[string]any(f)
	for _, name := range names {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[name]
	}
	return value
}

func (f fields) has(names ...string) bool { return f.at(names...) != nil }

func (f fields) text(names ...string) string {
	s, _ := f.at(names...).(string)
	return s
}

func (f fields) flag(names ...string) bool {
	b, _ := f.at(names...).(bool)
	return b
}

func (f fields) list(names ...string) []any {
	l, _ := f.at(names...).([]any)
	return l
}

// number returns the number at a path, or otherwise.
func (f fields) number(otherwise int64, names ...string) int64 {
	if n, ok := number(f.at(names...)); ok {
		return n
	}
	return otherwise
}

func (f fields) time(names ...string) time.Time {
	t, err := time.Parse(time.RFC3339, f.text(names...))
	if err != nil {
		return time.Time{}
	}
	return t
}

// number reads a whole number in any form in which controllers write them down,
// as a text too (helm#32615).
func number(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return int64(n), true
		}
	case string:
		parsed, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		return parsed, err == nil
	}
	return 0, false
}

// says is one of status.conditions.
type says struct {
	kind, status, reason, message string
	since                         time.Time
	// observed tells that it says which generation it speaks of, stale that this
	// is an earlier one.
	observed, stale bool
}

// conditions returns status.conditions, in their order.
func (f fields) conditions() []says {
	var out []says
	for _, item := range f.list("status", "conditions") {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		c := fields(m)
		s := says{
			kind: c.text("type"), status: c.text("status"),
			reason: c.text("reason"), message: c.text("message"),
			since: c.time("lastTransitionTime"),
		}
		_, s.observed = number(c.at("observedGeneration"))
		s.stale = f.olderThanSpec(c.at("observedGeneration"))
		out = append(out, s)
	}
	return out
}

// condition returns the condition of a type; false if there is none.
func (f fields) condition(kind string) (says, bool) {
	for _, c := range f.conditions() {
		if c.kind == kind {
			return c, true
		}
	}
	return says{}, false
}

// olderThanSpec tells whether what was observed is an earlier generation than the
// present one. Objects without generation are never told apart by it (edge case
// 51), nor is anything by what is no number.
func (f fields) olderThanSpec(observed any) bool {
	generation, ok := number(f.at("metadata", "generation"))
	if !ok {
		return false
	}
	seen, ok := number(observed)
	return ok && seen < generation
}

// staleStatus tells whether the status as a whole speaks of an earlier generation
// (edge case 47).
func (f fields) staleStatus() bool { return f.olderThanSpec(f.at("status", "observedGeneration")) }
