package wait

import (
	"context"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

type due struct {
	at   time.Time // zero without a limit
	note string    // describes the limit; empty for the limit of the whole wait
}

// sooner returns the earlier of two values. A value without a limit is later than any other.
func (d due) sooner(other due) due {
	if d.at.IsZero() || !other.at.IsZero() && other.at.Before(d.at) {
		return other
	}
	return d
}

func (d due) later(other due) due {
	if d.at.IsZero() || !other.at.IsZero() && !other.at.After(d.at) {
		return d
	}
	return other
}

func (r *run) dueOf(it *item) due {
	d := r.ownDue(it)
	if most := (due{at: r.began.Add(r.Most)}); r.Most > 0 {
		d = d.sooner(most)
	}
	return d
}

func (r *run) ownDue(it *item) due {
	base, kind := r.dueAtEnd(r.began), it.view.kind
	existence, exists := r.Limits.Existence(kind)
	if exists && it.appeared.IsZero() && !it.goal.waitsFor(condition.Delete) {
		return due{r.began.Add(existence), "did not exist within " + existence.String()}
	}
	from := r.began
	if exists && !it.appeared.IsZero() {
		from = it.appeared
		if base = r.dueAtEnd(from); r.Timeout > 0 {
			base.note = "not met within " + r.Timeout.String() + " after it appeared"
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

func (r *run) dueAtEnd(from time.Time) due {
	if r.Timeout < 0 {
		return due{}
	}
	return due{at: from.Add(r.Timeout)}
}

// dueOfConditions returns when the first unmet condition runs out of time or, if Any is set, when
// the last one does.
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

// outOfTime reports whether the object has run out of time. Timeout counts here only in overtime,
// when the wait continues for other objects.
func (r *run) outOfTime(it *item) (due, bool) {
	d := r.dueOf(it)
	if d.at.IsZero() || d.note == "" && !r.overtime || time.Now().Before(d.at) {
		return d, false
	}
	return d, true
}

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

// timeUp handles the expiry of Timeout. It expires the objects that have no time left, and returns
// how much longer to wait for the others; 0 if there are none.
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
		case d.at.After(time.Now()):
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
	return time.Until(last.at)
}

// reportExpired explains the last few objects in the background, because the others are still being awaited.
// A cause that is known already is used without another question.
func (r *run) reportExpired(ctx context.Context, asking *group) {
	items := r.expired
	r.expired = nil
	var ask []*item
	var objects []Stalled
	for _, it := range items {
		h := r.hangs[it]
		switch {
		case h != nil && r.isExplained(h):
			it.late.Causes = h.causes
		case r.Explain != nil && it.live != nil && len(ask) < lastAsked:
			ask = append(ask, it)
			objects = append(objects, Stalled{Ref: it.ref, Moved: true, Fresh: true})
			continue
		}
		r.reportLate(it)
	}
	if len(ask) == 0 {
		return
	}
	asking.start(func(report func(message)) {
		ctx, cancel := context.WithTimeout(ctx, explaining)
		defer cancel()
		explained := r.Explain(ctx, objects)
		if ctx.Err() == nil || len(explained.Causes) == len(ask) {
			report(message{late: ask, causes: explained.Causes})
		}
	})
}

func (r *run) lateExplained(items []*item, causes [][]event.Cause) {
	for i, it := range items {
		it.late.Causes = causes[i]
		r.reportLate(it)
	}
}

func (r *run) reportLate(it *item) {
	if !it.lateReported {
		it.lateReported = true
		r.Emit(*it.late)
	}
}
