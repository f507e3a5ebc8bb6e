package condition

import (
	"sync/atomic"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

// conventions evaluate ready by what a kind says of itself.
type conventions struct {
	rule readiness.Rule
	// began is when the first object was evaluated: what stood there before may have been
	// mended just then. It is nil where no one waits.
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
