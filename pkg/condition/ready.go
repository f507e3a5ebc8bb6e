package condition

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

// ready judges ready by what a kind says of itself.
type ready struct {
	rule readiness.Rule
	// began is when the first object was judged: what stood there before may have been
	// mended just then. It is nil where nobody waits.
	began *atomic.Pointer[time.Time]
}

// newReady takes the rule that is stated of a kind, or else that of readiness.
func newReady(gvk schema.GroupVersionKind, s *spec.Schema, one Spec) (judge, error) {
	byHeart := ready{rule: readiness.For(gvk, hasNoStatus(s))}
	if !one.Once {
		byHeart.began = &atomic.Pointer[time.Time]{}
	}
	rule, found := one.Rules.Of(gvk.GroupKind())
	if !found {
		return byHeart, nil
	}
	if rule.Exists() {
		byHeart.rule = readiness.For(gvk, true)
		return byHeart, nil
	}
	out, err := compileRule(gvk, rule)
	if err != nil {
		return nil, err
	}
	out.ready = byHeart
	return out, nil
}

func (r ready) judge(_ context.Context, obj map[string]any, now time.Time) Verdict {
	if r.began == nil {
		return verdictOf(r.rule.Evaluate(obj, now))
	}
	r.began.CompareAndSwap(nil, &now)
	return verdictOf(r.rule.EvaluateSince(obj, *r.began.Load(), now))
}

func verdictOf(v readiness.Verdict) Verdict {
	return Verdict{Met: v.Ready, Failed: v.Failed, Reason: v.Reason, Message: v.Message, Values: v.Values, Recheck: v.Recheck}
}

func (r ready) reads() reads { return reads{specTimes: true, paths: r.rule.Reads()} }

// hasNoStatus reports whether a kind is known to have no status. A schema that names
// no fields at all, or lets every field pass, tells nothing.
func hasNoStatus(s *spec.Schema) bool {
	if s == nil || len(s.Properties) == 0 {
		return false
	}
	if anything, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields"); anything {
		return false
	}
	_, has := s.Properties["status"]
	return !has
}
