// Package schedule decides when a stuck object is examined and which answer is news. Make a
// [Schedule] with New, report movement, and examine the objects that are due; each examination is
// paid from a budget of requests. Time is a parameter. It sends nothing.
package schedule

import (
	"cmp"
	"slices"
	"time"
)

// Limits say how soon and how often stuck objects are examined.
type Limits struct {
	// After is how long nothing moves before an examination; AfterBad, which is not longer, applies
	// if an event or a controller has already reported a fault.
	After, AfterBad time.Duration
	// Again is the least pause between two examinations of an object.
	Again time.Duration
	// Each is how many requests a minute one object may cost, All how many all of them may. Either
	// may be spent at once; the excess of one examination delays the next.
	Each, All int
	// Most is how many objects are examined, Batch how many of them at once.
	Most, Batch int
}

// Usual returns the limits for an examination after that time without a move.
func Usual(after time.Duration) Limits {
	return Limits{
		After: after, AfterBad: min(after, 5*time.Second), Again: 15 * time.Second,
		Each: 10, All: 240, Most: 50, Batch: 20,
	}
}

// Schedule decides when each object is examined. It is not safe for concurrent use.
type Schedule[K comparable] struct {
	limits  Limits
	all     budget
	objects map[K]*hanging
	looked  int
	// underway: a batch is being examined.
	underway bool
	order    int
}

// hanging is an object that may be stuck.
type hanging struct {
	moved  time.Time
	bad    bool
	order  int
	budget budget
	// asked is when it was last examined; zero for never. cheap is the cost of the next
	// examination.
	asked time.Time
	cheap float64
	// by is when an examination is due, whatever it costs; zero for never.
	by time.Time
}

// New returns a schedule without objects.
func New[K comparable](limits Limits) *Schedule[K] {
	return &Schedule[K]{limits: limits, objects: map[K]*hanging{}}
}

// Moved records that something moved in an object. bad: its new state reports a fault.
func (s *Schedule[K]) Moved(k K, now time.Time, bad bool) {
	o := s.objects[k]
	if o == nil {
		o = &hanging{budget: newPurse(s.limits.Each, now), order: s.order}
		s.order++
		s.objects[k] = o
	}
	o.moved, o.bad, o.by = now, bad, time.Time{}
}

// Drop forgets an object that is no longer stuck, or gone.
func (s *Schedule[K]) Drop(k K) {
	if o := s.objects[k]; o != nil && !o.asked.IsZero() {
		s.looked--
	}
	delete(s.objects, k)
}

// By schedules another examination at a time, unless the object moves before.
func (s *Schedule[K]) By(k K, at time.Time) {
	if o := s.objects[k]; o != nil {
		o.by = at
	}
}

// Asked records that the batch was examined. requests are those for each of its objects, shared
// those for all of them, and again is how many another examination of one takes.
func (s *Schedule[K]) Asked(now time.Time, requests map[K]int, shared, again int) {
	s.underway = false
	total := shared
	for k, n := range requests {
		total += n
		o := s.objects[k]
		if o == nil { // It moved in between.
			continue
		}
		if o.asked.IsZero() {
			s.looked++
		}
		o.asked, o.cheap = now, float64(again)
		o.budget.pay(now, float64(n))
		if !o.by.IsZero() && !o.by.After(now) {
			o.by = time.Time{}
		}
	}
	s.all.pay(now, float64(total))
}

// Due returns the objects to examine now, and counts them as being examined. It returns none until
// the previous batch is done.
func (s *Schedule[K]) Due(now time.Time) []K {
	if s.underway {
		return nil
	}
	if s.all.at.IsZero() {
		s.all = newPurse(s.limits.All, now)
	}
	room := s.limits.Most - s.looked
	var due []K
	for k, o := range s.objects {
		if s.isDue(o, now) {
			due = append(due, k)
		}
	}
	// The one that has waited longest comes first.
	slices.SortFunc(due, func(a, b K) int {
		x, y := s.objects[a], s.objects[b]
		return cmp.Or(x.asked.Compare(y.asked), cmp.Compare(x.order, y.order))
	})
	var batch []K
	left := s.all.has(now)
	for _, k := range due {
		o := s.objects[k]
		if left <= 0 || len(batch) == s.limits.Batch {
			break
		}
		if o.asked.IsZero() {
			if room == 0 {
				continue
			}
			room--
		}
		left -= max(1, o.cheap)
		batch = append(batch, k)
	}
	s.underway = len(batch) > 0
	return batch
}

// isDue reports whether an object is stuck and its examination is due.
func (s *Schedule[K]) isDue(o *hanging, now time.Time) bool {
	after := s.limits.After
	if o.bad {
		after = s.limits.AfterBad
	}
	switch {
	case now.Sub(o.moved) < after:
		return false
	case o.asked.IsZero():
		return true
	case !o.by.IsZero() && !now.Before(o.by):
		return o.budget.has(now) > 0
	default:
		return now.Sub(o.asked) >= s.limits.Again && o.budget.has(now) >= min(o.cheap, o.budget.full)
	}
}

// Passed returns how many stuck objects are not examined because others are.
func (s *Schedule[K]) Passed(now time.Time) int {
	if s.looked < s.limits.Most {
		return 0
	}
	n := 0
	for _, o := range s.objects {
		if o.asked.IsZero() && now.Sub(o.moved) >= s.limits.After {
			n++
		}
	}
	return n
}

// budget is a number of requests that grows to full, at full a minute. An examination that costs
// more is paid later: none is started until then.
type budget struct {
	full, holds float64
	at          time.Time
}

func newPurse(aMinute int, now time.Time) budget {
	return budget{full: float64(aMinute), holds: float64(aMinute), at: now}
}

// has returns the budget at a time.
func (p *budget) has(now time.Time) float64 {
	return min(p.full, p.holds+p.full*now.Sub(p.at).Minutes())
}

func (p *budget) pay(now time.Time, requests float64) {
	p.holds, p.at = p.has(now)-requests, now
}
