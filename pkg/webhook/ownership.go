package webhook

import (
	"errors"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// HintSink takes what admission knows of a write. It never blocks: false is a hint
// that it had no room for.
type HintSink interface {
	Hint(hint ownership.Hint) bool
}

// takings warns of what an update takes from others, and hints at it.
type takings struct {
	hints        HintSink     // nil is nobody
	deprecations Deprecations // nil is none
	count        *metrics
}

func (j takings) judge(r *request) ([]warning, error) {
	if r.Operation != admissionv1.Update || r.Object.isNull() || r.OldObject.isNull() {
		return nil, nil
	}
	was, is := r.OldObject.metadata, r.Object.metadata
	if err := errors.Join(r.OldObject.err, r.Object.err); err != nil {
		return nil, err
	}
	before, after := ownership.Compact(was.ManagedFields), ownership.Compact(is.ManagedFields)
	if before.Equal(after) {
		return nil, nil
	}
	old, err := r.OldObject.read()
	if err != nil {
		return nil, err
	}
	now, err := r.Object.read()
	if err != nil {
		return nil, err
	}
	transitions, err := ownership.BetweenObjects(before, after, old, now)
	if err != nil {
		return nil, err
	}
	if !r.DryRun && slices.ContainsFunc(transitions, isLoss) {
		j.hint(ownership.Hint{
			UID: is.UID, ResourceVersion: was.ResourceVersion, Owners: after,
			User: r.UserInfo.Username, Request: r.UID, Time: time.Now(),
		})
	}
	name := nameOf(r.Kind.Kind, is)
	out := ownersWarnings(name, takeovers(transitions))
	if j.deprecations != nil && slices.ContainsFunc(transitions, isClaim) {
		out = append(out, fieldWarnings(name, j.deprecations.Fields(old, now))...)
	}
	return out, nil
}

func (j takings) hint(h ownership.Hint) {
	if j.hints != nil && !j.hints.Hint(h) {
		j.count.hintsDropped.Inc()
	}
}

// isLoss tells whether somebody lost a path that may still be there. Who watches
// sees no values, and may call it taken or released where they show that it is
// neither.
func isLoss(t ownership.Transition) bool {
	return t.Kind != ownership.Removed && len(t.Lost()) > 0
}

// isClaim tells whether somebody holds a path who did not before.
func isClaim(t ownership.Transition) bool { return len(t.Gained()) > 0 }
