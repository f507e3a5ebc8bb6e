package condition

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

type ready struct {
	conventions conventions
	declared    *declared
}

func newReady(gvk schema.GroupVersionKind, s *spec.Schema, one Spec) (*ready, error) {
	out := &ready{conventions: conventions{rule: readiness.For(gvk)}}
	if cel.HasNoStatus(s) {
		out.conventions.rule = readiness.ForStatusless(gvk)
	}
	if !one.Once {
		out.conventions.began = &atomic.Pointer[time.Time]{}
	}
	rule, found := one.Rules.Of(gvk.GroupKind())
	if !found {
		return out, nil
	}
	if rule.Exists() {
		out.conventions.rule = readiness.ForStatusless(gvk)
		return out, nil
	}
	var err error
	out.declared, err = compileRule(gvk, rule)
	return out, err
}

func (r *ready) evaluate(ctx context.Context, obj map[string]any, now time.Time) Verdict {
	if r.declared == nil {
		return r.conventions.evaluate(obj, now)
	}
	return r.declared.evaluate(ctx, obj, now, r.conventions)
}

func (r *ready) reads() cel.Reads {
	if r.declared == nil {
		return r.conventions.reads()
	}
	return r.declared.read.And(r.conventions.reads())
}

type conventions struct {
	rule readiness.Rule
	// began holds the time at which the first object was evaluated. An error counts as lasting only
	// from then on, because an older error may have been fixed just before. If there is no wait,
	// began is nil.
	began *atomic.Pointer[time.Time]
}

func (c conventions) evaluate(obj map[string]any, now time.Time) Verdict {
	if c.began == nil {
		return verdictOf(c.rule.Evaluate(obj, now))
	}
	c.began.CompareAndSwap(nil, &now)
	return verdictOf(c.rule.EvaluateSince(obj, *c.began.Load(), now))
}

func (c conventions) reads() cel.Reads { return cel.Reads{SpecTimes: true, Paths: c.rule.Reads()} }

func verdictOf(v readiness.Verdict) Verdict {
	return Verdict{Met: v.Ready, Failed: v.Failed, Reason: v.Reason, Message: v.Message, Values: v.Values, Recheck: v.Recheck}
}

func named() [][]string {
	return [][]string{
		{"apiVersion"},
		{"kind"},
		{"metadata", "name"},
		{"metadata", "namespace"},
		{"metadata", "uid"},
		{"metadata", "resourceVersion"},
		{"metadata", "generation"},
		{"metadata", "deletionTimestamp"},
	}
}

// Trim returns a copy of the object that has only the fields that the conditions read and the
// fields that identify the object's version. So the verdicts of the conditions stay the same. The
// copy shares contents with obj. If a condition reads the whole object, Trim returns obj.
func Trim(obj map[string]any, conds ...*Condition) map[string]any {
	if obj == nil {
		return nil // An empty map would count as an existing object.
	}
	total := cel.Reads{Paths: named()}
	for _, c := range conds {
		r := c.how.reads()
		if r.All {
			return obj
		}
		total.Paths, total.SpecTimes = slices.Concat(total.Paths, r.Paths), total.SpecTimes || r.SpecTimes
	}
	out, _ := total.Of(obj).(map[string]any)
	if m, ok := out["metadata"].(map[string]any); ok && total.SpecTimes {
		m["managedFields"] = specTimesOf(obj)
	}
	return out
}

// specTimesOf returns the managed fields, reduced to the time of each owner's last write to the
// spec.
func specTimesOf(obj map[string]any) []any {
	var out []any
	entries, _ := cel.Meta(obj)["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		fields, _ := entry["fieldsV1"].(map[string]any)
		if _, spec := fields["f:spec"]; spec {
			out = append(out, map[string]any{"time": entry["time"], "fieldsV1": map[string]any{"f:spec": map[string]any{}}})
		}
	}
	return out
}
