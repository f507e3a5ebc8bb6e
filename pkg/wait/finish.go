package wait

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

var errNotSeen = errors.New("its state could not be read in time")

// finish ends each item that has not met its condition. It explains them together, so that all questions to the
// server are asked at once, and reports the results after that.
func (r *run) finish(ctx context.Context) error {
	close(r.over)
	var (
		outcome Outcome
		late    []*item
		results []event.Waited
	)
	for _, it := range r.items {
		if it.timer != nil {
			it.timer.Stop()
		}
		if it.done && it.action == event.Met || it.away() {
			continue
		}
		result := r.settle(ctx, it)
		if it.late != nil {
			result = *it.late
		}
		switch result.Action {
		case event.Failed:
			outcome.Failed++
		case event.Unknown:
			outcome.Unknown++
		default:
			outcome.Late++
		}
		if !it.lateReported {
			late, results = append(late, it), append(results, result)
		}
	}
	r.explainAll(ctx, late, results)
	r.whyAbsent(ctx, late, results)
	for _, result := range results {
		r.Emit(result)
	}
	return r.verdict(ctx, outcome)
}

// settle returns the result of an item at the end. An item whose state is not known has not timed out: its
// condition may be met.
func (r *run) settle(ctx context.Context, it *item) event.Waited {
	if it.done {
		return it.result()
	}
	it.action = event.Unmet
	result := it.result()
	if it.live == nil && it.known {
		result.Note = notThere(it)
	}
	unknown := it.view.ended
	switch {
	case unknown != nil:
	case it.view.blind != nil:
		unknown = it.view.blind
	case !it.known:
		unknown = errNotSeen
	default:
		unknown = it.verdict.err
	}
	switch {
	case ctx.Err() != nil:
	case unknown != nil:
		result.Action, result.Err = event.Unknown, redact.Refusal(it.ref, unknown)
	case r.timedOut || r.looking || it.expired:
		result.Action = event.TimedOut
	}
	return result
}

// verdict returns the error of the whole wait. Without reading a selection, it is unknown which objects were to
// be awaited, so that comes before unmet conditions.
func (r *run) verdict(ctx context.Context, outcome Outcome) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var faults []error
	for _, v := range r.views {
		switch {
		case !v.selecting():
		case v.ended != nil:
			faults = append(faults, fmt.Errorf("%s: %w", v.describe(), v.ended))
		case v.unserved != nil && len(r.items) == 0:
			faults = append(faults, v.unserved)
		case v.blind != nil:
			faults = append(faults, fmt.Errorf("%s: %w", v.describe(), v.blind))
		}
	}
	switch {
	case len(faults) > 0:
		return errors.Join(faults...)
	case outcome != Outcome{}:
		return &UnmetError{outcome}
	case r.met > 0 || r.named > 0 || r.deletes():
		return nil
	case r.left > 0:
		return &UnmetError{Outcome{Late: r.left}}
	default:
		return r.nothing(ctx)
	}
}

func (r *run) deletes() bool {
	for _, v := range r.views {
		if v.goal != nil && !v.goal.waitsFor(condition.Delete) {
			return false
		}
	}
	return !slices.ContainsFunc(r.items, func(it *item) bool { return it.found && !it.goal.waitsFor(condition.Delete) })
}

func (r *run) nothing(ctx context.Context) error {
	var all []error
	for _, v := range r.views {
		late := r.Existence != nil || v.goal != nil && v.goal.waitsFor(condition.Create)
		why := ""
		if r.Absent != nil {
			why = r.Absent(ctx, v.kind, object.Ref{GVK: v.kind.GVK, Namespace: v.namespace})
		}
		all = append(all, &NothingError{What: v.describe(), TimedOut: late, Why: why})
	}
	return errors.Join(all...)
}

// Outcome counts the objects that did not meet their goal.
type Outcome struct {
	// Failed counts objects that will not meet their goal. Late counts objects that did not meet it
	// in time, or were deleted. Unknown counts objects that could not be read.
	Failed, Late, Unknown int
}

// UnmetError is the error of a wait in which some objects did not meet their goal. The events have
// reported each of these objects.
type UnmetError struct {
	Outcome
}

func (e *UnmetError) Error() string {
	return fmt.Sprintf("not all conditions were met: %d failed, %d not in time, %d unknown", e.Failed, e.Late, e.Unknown)
}

// Undetermined reports whether the result of some object is unknown.
func (e *UnmetError) Undetermined() bool { return e.Unknown > 0 }

// NothingError is the error for selectors that match nothing.
type NothingError struct {
	// The What field describes the selection, such as "deployments.apps with labels app=web in
	// namespace x".
	What string
	// TimedOut is set if the wait ran out of time.
	TimedOut bool
	// Why is a possible reason; empty if none is known.
	Why string
}

func (e *NothingError) Error() string {
	text := "there are no " + e.What
	if e.TimedOut {
		text = "there are still no " + e.What
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Late reports whether the wait ran out of time.
func (e *NothingError) Late() bool { return e.TimedOut }

// Hint returns how to wait for objects that do not exist yet.
func (e *NothingError) Hint() string {
	if e.TimedOut {
		return ""
	}
	return "--existence-timeout=1m also waits for the first one to appear; --for=create waits for nothing else"
}

// Selected describes a selection of objects of one type.
func Selected(typ string, sel object.Selection) string {
	text := typ
	if sel.Labels != "" {
		text += " with labels " + sel.Labels
	}
	if sel.Fields != "" {
		text += " with fields " + sel.Fields
	}
	if sel.Namespace != "" {
		text += " in namespace " + sel.Namespace
	}
	return text
}

// bursts is how long the run collects changes, so that several writes in quick succession are
// reported once. An object that keeps changing is reported once a second.
const bursts = 100 * time.Millisecond

func (r *run) dirty(it *item) {
	r.unreported[it] = true
	if r.flush == nil {
		r.flush = time.After(bursts)
	}
}

func (r *run) emitLate() {
	r.flush = nil
	next := time.Minute
	for _, it := range r.items {
		if !r.unreported[it] {
			continue
		}
		now := event.Judged{Ref: it.ref, Conditions: it.verdict.conditions, Note: it.note}
		if it.live == nil {
			now.Note = notThere(it)
		}
		if reflect.DeepEqual(it.reported, now) {
			delete(r.unreported, it)
			continue
		}
		if left := it.burst.Left(time.Now()); left > 0 {
			next = min(next, left)
			continue
		}
		delete(r.unreported, it)
		it.reported = now
		r.Emit(now)
	}
	if len(r.unreported) > 0 {
		r.flush = time.After(next)
	}
}
