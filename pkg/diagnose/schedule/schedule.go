// Package schedule decides when a hanging object is examined and which answer is news. Make a
// [Schedule] with New, report movement, and examine the objects that are due; each examination is
// paid from a budget of requests. Time is a parameter. It asks nothing itself.
package schedule

import (
	"cmp"
	"slices"
	"time"
)

// Limits are how soon, and how often, it is asked why objects hang.
type Limits struct {
	// After is how long nothing moves before it is asked; AfterBad, which is not
	// longer, where an event or a controller has reported a fault already.
	After, AfterBad time.Duration
	// Again is the least pause between two questions about an object.
	Again time.Duration
	// Each is how many requests a minute one object may cost, All how many all of them
	// may. Either may be spent at once, and what one explanation costs more is made up
	// for before the next.
	Each, All int
	// Most is how many objects are looked into, Batch how many of them at once.
	Most, Batch int
}

// Usual are the limits where nothing moves for so long before it is asked.
func Usual(after time.Duration) Limits {
	return Limits{
		After: after, AfterBad: min(after, 5*time.Second), Again: 15 * time.Second,
		Each: 10, All: 240, Most: 50, Batch: 20,
	}
}

// Schedule says when which object is asked about. It belongs to one goroutine.
type Schedule[K comparable] struct {
	limits  Limits
	all     budget
	objects map[K]*hanging
	looked  int
	// underway: a batch was handed out, and nothing is heard of it yet.
	underway bool
	order    int
}

// hanging is an object that may hang.
type hanging struct {
	moved  time.Time
	bad    bool
	order  int
	budget budget
	// asked is when it was asked about last; zero for never. cheap is what it costs to
	// ask again.
	asked time.Time
	cheap float64
	// by is when an answer is due again, whatever it costs; zero for never.
	by time.Time
}

// New returns a schedule without objects.
func New[K comparable](limits Limits) *Schedule[K] {
	return &Schedule[K]{limits: limits, objects: map[K]*hanging{}}
}

// Moved notes that something moved in an object. bad: what it says now is that something
// is wrong.
func (s *Schedule[K]) Moved(k K, now time.Time, bad bool) {
	o := s.objects[k]
	if o == nil {
		o = &hanging{budget: newPurse(s.limits.Each, now), order: s.order}
		s.order++
		s.objects[k] = o
	}
	o.moved, o.bad, o.by = now, bad, time.Time{}
}

// Drop forgets an object: it does not hang any more, or is not there.
func (s *Schedule[K]) Drop(k K) {
	if o := s.objects[k]; o != nil && !o.asked.IsZero() {
		s.looked--
	}
	delete(s.objects, k)
}

// By has an object asked about again at a time, unless it moves before.
func (s *Schedule[K]) By(k K, at time.Time) {
	if o := s.objects[k]; o != nil {
		o.by = at
	}
}

// Asked notes that the batch that was handed out is explained. requests are those for
// each of its objects, shared those for all of them, and again is how many it takes to
// look at one of them again.
func (s *Schedule[K]) Asked(now time.Time, requests map[K]int, shared, again int) {
	s.underway = false
	total := shared
	for k, n := range requests {
		total += n
		o := s.objects[k]
		if o == nil { // It got on meanwhile.
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

// Due returns the objects to be asked about now, and takes it that they are. It returns
// none as long as nothing was heard of those before.
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

// isDue reports whether an object hangs, and it is time to ask about it.
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

// Passed is how many objects hang that are not looked into, because others are.
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

// budget holds the requests that may be sent. It fills up to full, at full a minute. An examination
// that costs more than the budget is paid later: no other is bought until then.
type budget struct {
	full, holds float64
	at          time.Time
}

func newPurse(aMinute int, now time.Time) budget {
	return budget{full: float64(aMinute), holds: float64(aMinute), at: now}
}

// has is how much there is by then.
func (p *budget) has(now time.Time) float64 {
	return min(p.full, p.holds+p.full*now.Sub(p.at).Minutes())
}

func (p *budget) pay(now time.Time, requests float64) {
	p.holds, p.at = p.has(now)-requests, now
}
