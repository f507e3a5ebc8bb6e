package unready

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

// isSilent reports whether an object is not ready only because its status does not say that it is.
func isSilent(v condition.Verdict) bool {
	return !v.Failed && (v.Reason == "NoCondition" || v.Reason == "NoStatus")
}

// isMute reports whether an object is of a custom kind none of whose objects shows whether it is ready.
// The controllers of many kinds, such as Istio's and MetalLB's, write no verdict, so the silence of one
// object means something only if another object of the kind has a verdict.
func (s *search) isMute(one *judged) bool {
	gk := one.ref.GVK.GroupKind()
	_, own := readiness.About(gk)
	_, ruled := s.rules.Of(gk)
	return isSilent(one.verdict) && !own && !ruled && !object.IsBuiltIn(gk.Group) && !s.speaking[gk]
}

// isUnclear reports whether nothing is known of a mute object's readiness: no cause explains it. For
// wait, which is asked about one object, silence is not enough to go on.
func (s *search) isUnclear(one *judged, causes []event.Cause) bool {
	known := func(c event.Cause) bool { return c.Code != "NoController" && !c.Doubt }
	return s.isMute(one) && !slices.ContainsFunc(causes, known)
}

// unclear returns the remark on an object whose kind never shows readiness.
func unclear(one *judged) event.Remarked {
	message, _, _ := strings.Cut(one.verdict.Message, readiness.OwnExpression)
	return event.Remarked{
		Ref: one.ref, Code: event.Unclear, Text: message,
		Hint: "no " + one.ref.GVK.Kind + " read here shows whether it is ready; a rule for the kind in k8sconnect.yaml would decide it",
	}
}
