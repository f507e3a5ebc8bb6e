// Package schedule decides when stuck objects are examined and which explanations are news. It
// never sends requests. The caller passes the current time to each method. Start with [New] and
// [Schedule.Due].
package schedule

import (
	"cmp"
	"slices"
	"time"
)

// Limits determines how soon and how often stuck objects are examined.
type Limits struct {
	// After limits the time without progress before an object is examined. AfterBad is the shorter
	// limit after a fault.
	After, AfterBad time.Duration
	// Again sets the minimum pause between two examinations of an object. [Schedule.By] overrides
	// it.
	Again time.Duration
	// Each limits the requests per minute for one object, and All limits them for all objects
	// together.
	Each, All int
	// Most limits the number of objects to examine, and Batch the number to examine at once.
	Most, Batch int
}

// Usual returns the usual limits with After set.
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
	// underway is set while a batch is being examined.
	underway bool
	order    int
}

type hanging struct {
	moved  time.Time
	bad    bool
	order  int
	budget budget
	// asked holds the time of the last examination; zero for never. cheap holds the number of
	// requests to expect for the next examination.
	asked time.Time
	cheap float64
	// by holds the time from which a non-empty budget is enough for an examination; zero for never.
	by time.Time
}

// New returns an empty schedule.
func New[K comparable](limits Limits) *Schedule[K] {
	return &Schedule[K]{limits: limits, objects: map[K]*hanging{}}
}

// Moved records progress of an object. bad is set if the new state reports a fault.
func (s *Schedule[K]) Moved(k K, now time.Time, bad bool) {
	o := s.objects[k]
	if o == nil {
		o = &hanging{budget: newBudget(s.limits.Each, now), order: s.order}
		s.order++
		s.objects[k] = o
	}
	o.moved, o.bad, o.by = now, bad, time.Time{}
}

// Drop removes an object that is gone or no longer stuck.
func (s *Schedule[K]) Drop(k K) {
	if o := s.objects[k]; o != nil && !o.asked.IsZero() {
		s.looked--
	}
	delete(s.objects, k)
}

// By schedules another examination for the given time, unless the object makes progress first.
func (s *Schedule[K]) By(k K, at time.Time) {
	if o := s.objects[k]; o != nil {
		o.by = at
	}
}

// Asked records that a batch was examined. requests contains the number of requests for each
// object, and shared the number of requests that served all of them. again predicts the number of
// requests for one object next time.
func (s *Schedule[K]) Asked(now time.Time, requests map[K]int, shared, again int) {
	s.underway = false
	total := shared
	for k, n := range requests {
		total += n
		o := s.objects[k]
		if o == nil { // It was dropped in the meantime.
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

// Due returns one batch of objects to examine now. It returns no further batch until
// [Schedule.Asked] has been called.
func (s *Schedule[K]) Due(now time.Time) []K {
	if s.underway {
		return nil
	}
	if s.all.at.IsZero() {
		s.all = newBudget(s.limits.All, now)
	}
	capacity := s.limits.Most - s.looked
	var due []K
	for k, o := range s.objects {
		if s.isDue(o, now) {
			due = append(due, k)
		}
	}
	// Objects that have waited longest come first.
	slices.SortFunc(due, func(a, b K) int {
		x, y := s.objects[a], s.objects[b]
		return cmp.Or(x.asked.Compare(y.asked), cmp.Compare(x.order, y.order))
	})
	var batch []K
	left := s.all.tokens(now)
	for _, k := range due {
		o := s.objects[k]
		if left <= 0 || len(batch) == s.limits.Batch {
			break
		}
		if o.asked.IsZero() {
			if capacity == 0 {
				continue
			}
			capacity--
		}
		left -= max(1, o.cheap)
		batch = append(batch, k)
	}
	s.underway = len(batch) > 0
	return batch
}

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
		return o.budget.tokens(now) > 0
	default:
		return now.Sub(o.asked) >= s.limits.Again && o.budget.tokens(now) >= min(o.cheap, o.budget.full)
	}
}

// Passed returns how many stuck objects are left unexamined because of Most.
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

// budget refills from empty to full in one minute. One examination may overdraw it.
type budget struct {
	full, left float64
	at         time.Time
}

func newBudget(aMinute int, now time.Time) budget {
	return budget{full: float64(aMinute), left: float64(aMinute), at: now}
}

func (b *budget) tokens(now time.Time) float64 {
	return min(b.full, b.left+b.full*now.Sub(b.at).Minutes())
}

func (b *budget) pay(now time.Time, requests float64) {
	b.left, b.at = b.tokens(now)-requests, now
}
