package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// errNotSeen: nothing of the object was heard.
var errNotSeen = errors.New("the server did not report on it in time")

// finish gives their results to what is left, and tells how it went.
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
		if !it.lateTold {
			late, results = append(late, it), append(results, result)
		}
	}
	r.explainAll(ctx, late, results)
	r.whyAbsent(ctx, late, results)
	for _, result := range results {
		r.emit(result)
	}
	return r.verdict(ctx, outcome)
}

// settle is the result of an object that is not met.
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

// verdict is how the wait as a whole went.
func (r *run) verdict(ctx context.Context, outcome Outcome) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var faults []error
	for _, v := range r.views {
		switch {
		case !v.selecting():
		case v.ended != nil:
			faults = append(faults, fmt.Errorf("%s: %w", v.what(), v.ended))
		case v.unserved != nil && len(r.items) == 0:
			faults = append(faults, v.unserved)
		case v.blind != nil:
			faults = append(faults, fmt.Errorf("%s: %w", v.what(), v.blind))
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

// deletes reports whether all that is waited for is to be gone.
func (r *run) deletes() bool {
	for _, v := range r.views {
		if v.goal != nil && !v.goal.waitsFor(condition.Delete) {
			return false
		}
	}
	return !slices.ContainsFunc(r.items, func(it *item) bool { return it.found && !it.goal.waitsFor(condition.Delete) })
}

// nothing is the error of selectors that match nothing.
func (r *run) nothing(ctx context.Context) error {
	var all []error
	for _, v := range r.views {
		late := r.Existence != nil || v.goal != nil && v.goal.waitsFor(condition.Create)
		why := ""
		if r.Absent != nil {
			why = r.Absent(ctx, v.kind, object.Ref{GVK: v.kind.GVK, Namespace: v.namespace})
		}
		all = append(all, &NothingError{What: v.what(), Late: late, Why: why})
	}
	return errors.Join(all...)
}
