package wait

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	looksEvery = time.Second
	explaining = 10 * time.Second
	// At the end of the wait, at most lastAsked objects without a known cause are explained. After an
	// interrupt, at most partingAsked are.
	lastAsked    = 100
	partingAsked = 20
	// parting limits the time for explanations after an interrupt.
	parting = time.Second
	// recent is the age up to which an explanation can still serve as the final one.
	recent = 20 * time.Second
)

func (r *run) hears() bool { return r.Explain != nil && r.StuckAfter > 0 && !r.looking }

func (r *run) watched(it *item, u *unstructured.Unstructured) {
	if !r.hears() || it.goal.waitsFor(condition.Delete) { // Before a deletion, readiness does not matter.
		return
	}
	h := r.hangs[it]
	if h == nil {
		h = &hang{}
		r.hangs[it] = h
	}
	if !h.marks.Moved(u) {
		return
	}
	h.moved, h.lasting = time.Now(), nil
	r.stalls.Moved(it, h.moved, r.Complains != nil && r.Complains(u))
}

func (r *run) explain(ctx context.Context, asking *group) {
	now := time.Now()
	var items []*item
	var objects []Stalled
	due := r.stalls.Due(now)
	for _, it := range due {
		switch h := r.hangs[it]; {
		case it.live == nil: // Its absence was reported.
			r.stalls.Drop(it)
		case it.view.blind != nil: // Its progress cannot be seen.
			r.stalls.Moved(it, now, false)
		default:
			h.decides = r.mayEnd(h, now)
			items = append(items, it)
			objects = append(objects, Stalled{Ref: it.ref, Moved: h.outdated(), Fresh: h.decides})
		}
	}
	if n := r.stalls.Passed(now); n > 0 && !r.passed {
		r.passed = true
		r.Emit(event.Warned{Text: fmt.Sprintf("also stalled: %s, to be examined once others make progress", text.Count(n, "more object"))})
	}
	if len(items) == 0 {
		if len(due) > 0 {
			r.stalls.Asked(now, nil, 0, 0)
		}
		return
	}
	asking.start(func(report func(message)) {
		ctx, cancel := context.WithTimeout(ctx, explaining)
		defer cancel()
		report(message{explained: &explained{items, now, r.Explain(ctx, objects)}})
	})
}

func (r *run) explained(e explained) {
	now := time.Now()
	requests := map[*item]int{}
	for i, it := range e.items {
		requests[it] = e.Requests[i]
	}
	r.stalls.Asked(now, requests, e.Shared, e.Again)
	for i, it := range e.items {
		if it.done || it.live == nil {
			continue
		}
		h := r.hangs[it]
		h.asked = e.asked
		if h.outdated() {
			continue
		}
		h.causes = e.Causes[i]
		if h.reported.News(h.causes, nil) {
			r.Emit(event.Stalled{Ref: it.ref, Since: h.moved, Causes: h.causes})
		}
		r.lasts(it, h)
	}
}

// mayEnd reports whether an explanation from fresh facts may end the wait.
func (r *run) mayEnd(h *hang, now time.Time) bool {
	for _, c := range h.causes {
		first, lasts := h.lasting[keyOf(c)]
		if !lasts {
			continue
		}
		if due := first.Add(r.EndsFor(c)); !due.After(now) && h.confirms(c, due) {
			return true
		}
	}
	return false
}

// lasts marks the object as failed if a cause will not go away by itself and has lasted long
// enough. Only an explanation from fresh reads can have this effect. Without such an explanation,
// lasts schedules the next one.
func (r *run) lasts(it *item, h *hang) {
	if r.EndsFor == nil {
		return
	}
	now := time.Now()
	before := h.lasting
	h.lasting = map[causeKey]time.Time{}
	var next time.Time
	for _, c := range h.causes {
		after := r.EndsFor(c)
		if after <= 0 || c.Passing {
			continue
		}
		first, known := before[keyOf(c)]
		if !known {
			first = now
		}
		h.lasting[keyOf(c)] = first
		due := first.Add(after)
		if h.decides && !due.After(now) && h.confirms(c, due) {
			it.note = fmt.Sprintf("ended early: %s has lasted for %s and will not go away on its own", c.Code, now.Sub(first).Round(time.Second))
			r.end(it, event.Failed)
			return
		}
		if !due.After(now) && !h.confirms(c, due) {
			continue // The usual schedule is soon enough.
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	if !next.IsZero() {
		r.stalls.By(it, next)
	}
}

func (r *run) isExplained(h *hang) bool {
	return !h.asked.IsZero() && !h.outdated() && time.Since(h.asked) <= recent
}

// explainAll adds the causes to the results. It reuses the last explanation of an object that has
// made no progress since, and explains the other objects once more. After an interrupt, it spends
// only a short time on this.
func (r *run) explainAll(ctx context.Context, items []*item, results []event.Waited) {
	if r.Explain == nil {
		return
	}
	patience, most := explaining, lastAsked
	interrupted := ctx.Err() != nil
	if interrupted {
		ctx, patience, most = context.WithoutCancel(ctx), parting, partingAsked
	}
	var ask []int
	var unexplained []object.Ref
	for i, it := range items {
		if it.live == nil {
			continue
		}
		h := r.hangs[it]
		if h != nil && len(h.causes) > 0 {
			results[i].Causes = h.causes
		}
		ended := results[i].Action == event.Failed || results[i].Action == event.TimedOut
		known := h != nil && (r.isExplained(h) || interrupted && !h.asked.IsZero() && !h.outdated())
		switch {
		case (ended || interrupted) && !known && len(ask) < most:
			ask = append(ask, i)
		case (ended || interrupted) && !known && (h == nil || h.outdated() || len(h.causes) == 0):
			results[i].Causes = nil
			unexplained = append(unexplained, it.ref)
		case h != nil && h.outdated():
			results[i].Causes = nil
		}
	}
	if len(ask) == 0 {
		return
	}
	if len(unexplained) > 0 {
		r.Emit(event.Warned{Text: leftUnexplained(unexplained)})
	}
	var objects []Stalled
	for _, i := range ask {
		objects = append(objects, Stalled{Ref: items[i].ref, Moved: true, Fresh: !interrupted})
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for n, causes := range r.Explain(ctx, objects).Causes {
		if len(causes) > 0 || ctx.Err() == nil { // An older explanation is better than none.
			results[ask[n]].Causes = causes
		}
	}
}

// leftUnexplained reports objects that are not explained, and the command that explains them.
func leftUnexplained(refs []object.Ref) string {
	where := " -n " + text.ShellQuote(refs[0].Namespace)
	if slices.ContainsFunc(refs, func(ref object.Ref) bool { return ref.Namespace != refs[0].Namespace }) || refs[0].Namespace == "" {
		where = " -A"
	}
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.String()
	}
	const shown = 3
	return fmt.Sprintf("not explained: %s; to explain all: %s%s",
		text.List(names, shown), command.Kubectl("k8sconnect", "unready"), where)
}
