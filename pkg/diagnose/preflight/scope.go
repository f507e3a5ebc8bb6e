package preflight

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// truth is the answer to a question that may be open.
type truth int

const (
	no truth = iota
	yes
	perhaps
)

func of(is bool) truth {
	if is {
		return yes
	}
	return no
}

// counts reports whether a quota counts the Pods of a demand: those to which all its scopes
// apply.
func (v *view) counts(q *corev1.ResourceQuota, d demand) truth {
	all := yes
	for _, scope := range q.Spec.Scopes {
		all = both(all, v.inScope(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, d))
	}
	if q.Spec.ScopeSelector != nil {
		for _, scope := range q.Spec.ScopeSelector.MatchExpressions {
			all = both(all, v.inScope(scope, d))
		}
	}
	if d.old != nil && all == yes && (len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil) {
		return perhaps // Its Pods may have been of another scope before.
	}
	return all
}

func both(a, b truth) truth {
	switch {
	case a == no || b == no:
		return no
	case a == perhaps || b == perhaps:
		return perhaps
	}
	return yes
}

// inScope reports whether one scope applies.
func (v *view) inScope(scope corev1.ScopedResourceSelectorRequirement, d demand) truth {
	switch scope.ScopeName { //nolint:exhaustive // Other scopes, later ones too, are not known.
	case corev1.ResourceQuotaScopeTerminating:
		return of(d.spec.ActiveDeadlineSeconds != nil)
	case corev1.ResourceQuotaScopeNotTerminating:
		return of(d.spec.ActiveDeadlineSeconds == nil)
	case corev1.ResourceQuotaScopeBestEffort:
		return v.bestEffort(d)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return [...]truth{no: yes, yes: no, perhaps: perhaps}[v.bestEffort(d)]
	case corev1.ResourceQuotaScopePriorityClass:
		class := d.spec.PriorityClassName
		if class == "" {
			return perhaps // The cluster may have a default for Pods without one.
		}
		switch scope.Operator {
		case corev1.ScopeSelectorOpIn:
			return of(slices.Contains(scope.Values, class))
		case corev1.ScopeSelectorOpNotIn:
			return of(!slices.Contains(scope.Values, class))
		case corev1.ScopeSelectorOpExists:
			return yes
		case corev1.ScopeSelectorOpDoesNotExist:
			return no
		}
	}
	return perhaps
}

// bestEffort reports whether no container of the Pods has requests or limits, of its own
// or from a LimitRange.
func (v *view) bestEffort(d demand) truth {
	if d.spec.Resources != nil {
		return perhaps
	}
	for _, c := range slices.Concat(d.spec.InitContainers, d.spec.Containers) {
		for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if amount := list[name]; !amount.IsZero() {
					return no
				}
			}
		}
	}
	if !v.noDefaults(d.of.Ref.Namespace) || v.mayResize(d.template) {
		return perhaps
	}
	return yes
}
