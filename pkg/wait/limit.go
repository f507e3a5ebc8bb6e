package wait

import (
	"context"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// due is when an object is out of time.
type due struct {
	// at is zero where it may take as long as it needs.
	at time.Time
	// note says what time it was that is over; empty for that of the whole wait.
	note string
}

// sooner is the earlier of two.
func (d due) sooner(other due) due {
	if d.at.IsZero() || !other.at.IsZero() && other.at.Before(d.at) {
		return other
	}
	return d
}

// later is the later of two.
func (d due) later(other due) due {
	if d.at.IsZero() || !other.at.IsZero() && !other.at.After(d.at) {
		return d
	}
	return other
}

// dueOf is when an object is out of time, as far as is known of it.
func (r *run) dueOf(it *item) due {
	d := r.ownDue(it)
	if most := (due{at: r.began.Add(r.Most)}); r.Most > 0 {
		d = d.sooner(most)
	}
	return d
}

func (r *run) ownDue(it *item) due {
	base, kind := r.whole(r.began), it.view.kind
	if r.Limits == nil {
		return base
	}
	existence, exists := r.Limits.Existence(kind)
	if exists && it.appeared.IsZero() && !it.goal.waitsFor(condition.Delete) {
		return due{r.began.Add(existence), "did not exist within " + existence.String()}
	}
	from := r.began
	if exists && !it.appeared.IsZero() {
		from = it.appeared
		if base = r.whole(from); r.Timeout > 0 {
			base.note = "not met within " + r.Timeout.String() + " of when it was there"
		}
	}
	if most, own := r.Limits.Object(kind); own {
		base = due{from.Add(most), "not met within " + most.String()}
	}
	if it.appeared.IsZero() {
		return base
	}
	return r.dueOfConditions(it, base)
}

// whole is when the time of the whole wait is over, counted from a moment.
func (r *run) whole(from time.Time) due {
	if r.Timeout < 0 {
		return due{}
	}
	return due{at: from.Add(r.Timeout)}
}

// dueOfConditions is when the first of those that are not met is out of time; where one is
// enough, the last.
func (r *run) dueOfConditions(it *item, base due) due {
	conds := it.view.compiled[it.goal]
	if conds == nil {
		return base
	}
	var all []due
	for i, c := range conds.met {
		one := base
		if most, own := r.Limits.Condition(it.view.kind, c.Spec()); own {
			one = due{it.appeared.Add(most), "not met within " + most.String() + ": " + c.Spec().Text}
		}
		if i < len(it.verdict.conditions) && it.verdict.conditions[i].Met && !conds.any {
			continue
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return base
	}
	d := all[0]
	for _, one := range all[1:] {
		if conds.any {
			d = d.later(one)
		} else {
			d = d.sooner(one)
		}
	}
	return d
}

// outOfTime reports whether the object has had its time while the wait goes on. That of the
// whole wait counts only once there are objects with more.
func (r *run) outOfTime(it *item) (due, bool) {
	d := r.dueOf(it)
	if d.at.IsZero() || d.note == "" && !r.overtime || r.now().Before(d.at) {
		return d, false
	}
	return d, true
}

// expire ends an object that is out of time; the others are waited for.
func (r *run) expire(ctx context.Context, it *item, d due) {
	it.expired = true
	result := r.settle(ctx, it)
	if d.note != "" {
		if result.Note != "" {
			result.Note += "; "
		}
		result.Note += d.note
	}
	it.late = &result
	r.end(it, result.Action)
	r.expired = append(r.expired, it)
}

// timeUp is when the time of the whole wait is over: objects that have no more end, and the
// wait goes on for as long as the result says; 0 ends it.
func (r *run) timeUp(ctx context.Context) time.Duration {
	r.overtime = true
	var last due
	endless := false
	for _, it := range r.items {
		if it.done {
			continue
		}
		switch d := r.dueOf(it); {
		case d.at.IsZero():
			endless = true
		case d.at.After(r.now()):
			last = last.later(d)
			if last.at.IsZero() {
				last = d
			}
		}
	}
	if last.at.IsZero() && !endless {
		r.overtime = false
		return 0
	}
	for _, it := range r.items {
		if d, over := r.outOfTime(it); over && !it.done {
			r.expire(ctx, it, d)
		}
	}
	if endless {
		return time.Duration(1<<63 - 1)
	}
	return last.at.Sub(r.now())
}

// tellExpired gives their results to objects that are out of time, with what holds them.
func (r *run) tellExpired(ctx context.Context, asking *group) {
	items := r.expired
	r.expired = nil
	var ask []*item
	var objects []Stalled
	for _, it := range items {
		h := r.hangs[it]
		switch {
		case h != nil && r.knows(h):
			it.late.Causes = h.causes
		case r.Explain != nil && it.live != nil && len(ask) < lastAsked:
			ask = append(ask, it)
			objects = append(objects, Stalled{Ref: it.ref, Moved: true, Fresh: true})
			continue
		}
		r.tellLate(it)
	}
	if len(ask) == 0 {
		return
	}
	asking.start(func(tell func(message)) {
		ctx, cancel := context.WithTimeout(ctx, explaining)
		defer cancel()
		said := r.Explain(ctx, objects)
		if ctx.Err() == nil || len(said.Causes) == len(ask) {
			tell(message{late: ask, causes: said.Causes})
		}
	})
}

// lateExplained takes in why objects were not met in time.
func (r *run) lateExplained(items []*item, causes [][]event.Cause) {
	for i, it := range items {
		it.late.Causes = causes[i]
		r.tellLate(it)
	}
}

func (r *run) tellLate(it *item) {
	if !it.lateTold {
		it.lateTold = true
		r.emit(*it.late)
	}
}
