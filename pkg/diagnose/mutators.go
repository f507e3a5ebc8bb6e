package diagnose

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Mutators returns the mutating webhook configurations and policies that match a create or an update of the
// object, in the order in which the server calls them: policies first. Only the server can evaluate their
// conditions, so these count as met. If sure is false, some could not be read.
func (r *Run) Mutators(kind object.Kind, u *unstructured.Unstructured) (found []object.Ref, sure bool) {
	found, sure = r.mutatingPolicies(kind, u)
	hooks, sureOfHooks := r.Hooks()
	for _, h := range hooks {
		if h.Config.GVK.Kind == "MutatingWebhookConfiguration" && !slices.Contains(found, h.Config) && r.mayMutate(h, kind, u) {
			found = append(found, h.Config)
		}
	}
	return found, sure && sureOfHooks
}

func (r *Run) mayMutate(h Hook, kind object.Kind, u *unstructured.Unstructured) bool {
	return (h.hears(kind, admissionv1.Create) || h.hears(kind, admissionv1.Update)) && Selects(h.ofObject, u.GetLabels()) && r.inNamespaceOf(h, u)
}

// mutatingPolicies returns the policies that match. A policy acts only where one of its bindings matches, too.
func (r *Run) mutatingPolicies(kind object.Kind, u *unstructured.Unstructured) (found []object.Ref, sure bool) {
	policies, sure := r.List(admissionv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"), "")
	bindings, sureOfBindings := r.List(admissionv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding"), "")
	for _, p := range policies {
		policy, _ := As[admissionv1.MutatingAdmissionPolicy](p)
		if m := policy.Spec.MatchConstraints; m == nil || !r.matches(m, kind, u) {
			continue
		}
		if slices.ContainsFunc(bindings, func(b *unstructured.Unstructured) bool {
			binding, _ := As[admissionv1.MutatingAdmissionPolicyBinding](b)
			m := binding.Spec.MatchResources
			return binding.Spec.PolicyName == policy.Name && (m == nil || r.matches(m, kind, u))
		}) {
			found = append(found, object.RefOf(p))
		}
	}
	return found, sure && sureOfBindings
}

// matches reports whether the server applies a policy or a binding to an object. A binding without rules has
// those of its policy.
func (r *Run) matches(m *admissionv1.MatchResources, kind object.Kind, u *unstructured.Unstructured) bool {
	hookOf := func(rules []admissionv1.NamedRuleWithOperations, namespaces, objects *metav1.LabelSelector) Hook {
		h := Hook{equivalent: m.MatchPolicy == nil || *m.MatchPolicy == admissionv1.Equivalent, ofNamespace: namespaces, ofObject: objects}
		for _, rule := range rules {
			if len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, u.GetName()) {
				h.rules = append(h.rules, rule.RuleWithOperations)
			}
		}
		return h
	}
	excluded := hookOf(m.ExcludeResourceRules, nil, nil)
	if excluded.hears(kind, admissionv1.Create) && excluded.hears(kind, admissionv1.Update) {
		return false
	}
	included := hookOf(m.ResourceRules, m.NamespaceSelector, m.ObjectSelector)
	if len(m.ResourceRules) == 0 {
		return Selects(included.ofObject, u.GetLabels()) && r.inNamespaceOf(included, u)
	}
	return r.mayMutate(included, kind, u)
}
