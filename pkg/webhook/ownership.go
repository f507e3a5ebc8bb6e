package webhook

import (
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

func (j takings) judge(request *admissionv1.AdmissionRequest) ([]warning, error) {
	if request.Operation != admissionv1.Update || isNull(request.Object.Raw) || isNull(request.OldObject.Raw) {
		return nil, nil
	}
	old, err := readMetadata(request.OldObject.Raw)
	if err != nil {
		return nil, err
	}
	now, err := readMetadata(request.Object.Raw)
	if err != nil {
		return nil, err
	}
	before, after := ownership.Compact(old.ManagedFields), ownership.Compact(now.ManagedFields)
	transitions, err := ownership.Between(before, after)
	if err != nil || len(transitions) == 0 {
		return nil, err
	}
	// Who watches sees no values, so that without them it is decided what to hint at.
	if !isDryRun(request) && slices.ContainsFunc(transitions, ownership.Transition.Notable) {
		j.hint(ownership.Hint{
			UID: now.UID, ResourceVersion: old.ResourceVersion, Owners: after,
			User: request.UserInfo.Username, Request: request.UID, Time: time.Now(),
		})
	}
	return j.warnings(request, now, transitions)
}

// warnings reads the values, where they may matter.
func (j takings) warnings(request *admissionv1.AdmissionRequest, m metadata, transitions []ownership.Transition) ([]warning, error) {
	taken := slices.ContainsFunc(transitions, mayBeTaken)
	claimed := j.deprecations != nil && slices.ContainsFunc(transitions, isClaim)
	if !taken && !claimed {
		return nil, nil
	}
	old, err := readObject(request.OldObject.Raw)
	if err != nil {
		return nil, err
	}
	now, err := readObject(request.Object.Raw)
	if err != nil {
		return nil, err
	}
	name := nameOf(request.Kind.Kind, request, m)
	var out []warning
	if taken {
		if transitions, err = ownership.Transitions(old, now); err != nil {
			return nil, err
		}
		out = ownersWarnings(name, takeovers(transitions))
	}
	if claimed {
		out = append(out, fieldWarnings(name, j.deprecations.Fields(old, now))...)
	}
	return out, nil
}

func (j takings) hint(h ownership.Hint) {
	if j.hints != nil && !j.hints.Hint(h) {
		j.count.hintsDropped.Inc()
	}
}

// mayBeTaken tells whether values decide between a takeover and none.
func mayBeTaken(t ownership.Transition) bool {
	return t.Kind == ownership.Taken || t.Why == ownership.SameValue
}

// isClaim tells whether somebody holds a path who did not before.
func isClaim(t ownership.Transition) bool { return len(t.Gained()) > 0 }

func isDryRun(request *admissionv1.AdmissionRequest) bool {
	return request.DryRun != nil && *request.DryRun
}
