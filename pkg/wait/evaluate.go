package wait

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func (r *run) present(ctx context.Context, it *item, u *unstructured.Unstructured) {
	if it.done {
		return
	}
	if it.uid != "" && it.uid != u.GetUID() {
		it.note = "replaced during the wait"
		r.Emit(event.Warned{Ref: it.ref, Text: "was replaced by another object of the same name during the wait"})
	}
	it.known, it.absent, it.uid = true, time.Time{}, u.GetUID()
	if it.appeared.IsZero() {
		it.appeared = time.Now()
	}
	if r.Objects {
		it.whole = u
	}
	it.live = u.Object
	r.watched(it, u)
	r.evaluate(ctx, it)
	if !it.done {
		it.live = it.view.compiled[it.goal].trim(u.Object)
	}
}

func (r *run) objectGone(ctx context.Context, it *item) {
	if it.done || it.known && it.live == nil {
		return
	}
	if !it.known && !it.found {
		r.missed(it)
	}
	deleted := it.live != nil || it.found
	it.known, it.live, it.absent = true, nil, time.Now()
	action := event.Gone
	switch {
	case !deleted || it.goal.waitsFor(condition.Delete):
	case it.view.selecting() && it.view.labels != "":
		action, it.note = event.Unselected, "deleted or relabeled during the wait"
		r.Emit(event.Warned{Ref: it.ref, Text: "is no longer selected: it was deleted, or its labels have changed"})
	default:
		it.note = "deleted during the wait"
		r.Emit(event.Warned{Ref: it.ref, Text: "was " + it.note})
	}
	r.evaluate(ctx, it)
	if !it.done && deleted && (it.found || it.view.selecting()) {
		// The selector matched this object, not its name, so a new object of the same name does not
		// replace it.
		r.end(it, action)
	}
}

// evaluate ends the item if its state decides. An object that does not exist by --existence-timeout ends the
// whole wait, not only its item.
func (r *run) evaluate(ctx context.Context, it *item) {
	if it.done || !it.known {
		return
	}
	it.verdict = it.view.compiled[it.goal].evaluate(ctx, it.live, time.Now())
	end, late := r.outOfTime(it)
	existence := r.existence(it)
	switch v := it.verdict; {
	case v.met:
		r.end(it, event.Met)
	case v.failed && it.live != nil:
		r.end(it, event.Failed)
	case it.live == nil && existence != nil && time.Since(it.absent) >= *existence:
		it.note = notThere(it)
		r.end(it, event.TimedOut)
		r.stop = true
	case late:
		r.expire(ctx, it, end)
	default:
		r.reevaluate(it)
		r.dirty(it)
	}
}

// existence returns how long the object may be missing; nil means no limit.
func (r *run) existence(it *item) *time.Duration {
	if _, own := r.Limits.Existence(it.view.kind); own {
		return nil
	}
	return r.Existence
}

// reevaluate schedules another evaluation if the verdict may change merely as time passes.
func (r *run) reevaluate(it *item) {
	after := it.verdict.recheck
	sooner := func(left time.Duration) {
		if after == 0 || left < after {
			after = left
		}
	}
	if existence := r.existence(it); it.live == nil && existence != nil {
		sooner(*existence - time.Since(it.absent))
	}
	if d := r.dueOf(it); !d.at.IsZero() && (d.note != "" || r.overtime) {
		sooner(max(time.Millisecond, time.Until(d.at)))
	}
	if it.timer != nil {
		it.timer.Stop()
		it.timer = nil
	}
	if after > 0 && !r.looking {
		it.timer = time.AfterFunc(after, func() {
			select {
			case r.rechecks <- it:
			case <-r.over:
			}
		})
	}
}

type conditions struct {
	met    []*condition.Condition
	any    bool
	failed []*condition.Condition
	// untyped is set if the goal needs a schema that the server has not published yet.
	untyped bool
}

func compileGoal(gvk schema.GroupVersionKind, s *spec.Schema, goal *Goal) (*conditions, error) {
	met, metErr := condition.Compile(gvk, s, goal.For)
	failed, failedErr := condition.Compile(gvk, s, goal.FailOn)
	return &conditions{met: met, any: goal.Any, failed: failed}, errors.Join(metErr, failedErr)
}

type verdict struct {
	met, failed bool
	// recheck is the time after which the verdict may change even if the object does not; 0 for
	// never.
	recheck    time.Duration
	conditions []event.Condition
	err        error
}

// evaluate evaluates all conditions against one version of an object (edge case 46); nil means that
// the object is missing.
func (c *conditions) evaluate(ctx context.Context, obj map[string]any, now time.Time) verdict {
	v := verdict{met: !c.any, failed: c.any && len(c.met) > 0}
	for _, cond := range c.met {
		one := v.add(ctx, cond, obj, now)
		if c.any {
			v.met = v.met || one.Met
			v.failed = v.failed && one.Failed
		} else {
			v.met = v.met && one.Met
			v.failed = v.failed || one.Failed
		}
	}
	for _, cond := range c.failed {
		if obj == nil {
			break // A missing object has not failed.
		}
		switch one := v.add(ctx, cond, obj, now); {
		case one.Met:
			v.met, v.failed = false, true
		case one.Err != nil:
			v.met = false // Unknown: do not report success.
		}
		v.conditions[len(v.conditions)-1].Forbidden = true
	}
	v.failed = v.failed && !v.met
	return v
}

func (v *verdict) add(ctx context.Context, cond *condition.Condition, obj map[string]any, now time.Time) condition.Verdict {
	one := cond.EvaluateAt(ctx, obj, now)
	if one.Recheck > 0 && (v.recheck == 0 || one.Recheck < v.recheck) {
		v.recheck = one.Recheck
	}
	v.err = cmp.Or(v.err, one.Err)
	said := event.Condition{
		For: cond.Spec().Text, Met: one.Met, Failed: one.Failed, Reason: one.Reason, Message: one.Message, Err: one.Err,
	}
	for _, value := range one.Values {
		said.Values = append(said.Values, event.Value(value))
	}
	v.conditions = append(v.conditions, said)
	return one
}

func (c *conditions) trim(obj map[string]any) map[string]any {
	all := make([]*condition.Condition, 0, len(c.met)+len(c.failed))
	return condition.Trim(obj, append(append(all, c.met...), c.failed...)...)
}

func (e *Engine) compileAll(ctx context.Context, kind object.Kind, goals []*Goal) (map[*Goal]*conditions, error) {
	compiled := map[*Goal]*conditions{}
	for _, goal := range goals {
		typed := kind.Resource != "" && slices.ContainsFunc(slices.Concat(goal.For, goal.FailOn), func(s condition.Spec) bool {
			return s.NeedsSchema(kind.GVK)
		})
		var schema *spec.Schema
		var err error
		if typed {
			if schema, err = e.Source.Schema(ctx, kind); err != nil {
				return nil, err
			}
		}
		conds, err := compileGoal(kind.GVK, schema, goal)
		if err != nil {
			return nil, err
		}
		conds.untyped = typed && schema == nil
		compiled[goal] = conds
	}
	return compiled, nil
}
