package diagnose

import (
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Mutators returns the mutating webhook configurations and policies that match a create or an update of the
// object, in the order in which the server calls them: policies first. Only the server can evaluate their
// conditions, so these count as met. If sure is false, some could not be read.
//
// The labels are those of the object in the cluster and those of u, because the server also selects by labels
// that others have added.
func (r *Run) Mutators(kind object.Kind, u *unstructured.Unstructured) (found []object.Ref, sure bool) {
	hooks, sureOfHooks := r.Hooks()
	policies, bindings, sureOfPolicies := r.mutatingPolicies()
	u, sure = r.withStoredLabels(u, hooks, policies, bindings)
	sure = sure && sureOfHooks && sureOfPolicies
	found = r.matchingPolicies(policies, bindings, kind, u)
	for _, h := range hooks {
		if mutates(h) && !slices.Contains(found, h.Config) && r.mayMutate(h, kind, u) {
			found = append(found, h.Config)
		}
	}
	return found, sure
}

// withStoredLabels returns an object with the labels of u and of the live object. It reads the live object only
// if something selects by labels.
func (r *Run) withStoredLabels(
	u *unstructured.Unstructured, hooks []Hook, policies, bindings []*unstructured.Unstructured,
) (labelled *unstructured.Unstructured, sure bool) {
	selects := slices.ContainsFunc(hooks, func(h Hook) bool { return mutates(h) && !isEverything(h.ofObject) })
	for _, p := range policies {
		policy, _ := As[admissionv1.MutatingAdmissionPolicy](p)
		selects = selects || policy.Spec.MatchConstraints != nil && !isEverything(policy.Spec.MatchConstraints.ObjectSelector)
	}
	for _, b := range bindings {
		binding, _ := As[admissionv1.MutatingAdmissionPolicyBinding](b)
		selects = selects || binding.Spec.MatchResources != nil && !isEverything(binding.Spec.MatchResources.ObjectSelector)
	}
	if !selects {
		return u, true
	}
	live, sure := r.Get(u.GroupVersionKind(), u.GetNamespace(), u.GetName())
	if live == nil {
		return u, sure
	}
	labels := maps.Clone(live.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, u.GetLabels())
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	metadata, _ := u.Object["metadata"].(map[string]any)
	out.Object["metadata"] = maps.Clone(metadata)
	out.SetLabels(labels)
	return out, sure
}

func mutates(h Hook) bool { return h.Config.GVK.Kind == "MutatingWebhookConfiguration" }

func isEverything(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

func (r *Run) mayMutate(h Hook, kind object.Kind, u *unstructured.Unstructured) bool {
	return (h.hears(kind, admissionv1.Create) || h.hears(kind, admissionv1.Update)) && Selects(h.ofObject, u.GetLabels()) && r.inNamespaceOf(h, u)
}

// mutatingPolicies returns the policies and their bindings. Kubernetes serves them at v1 since 1.36, and before
// only at the other versions, where an administrator has enabled these.
// https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/3962-mutating-admission-policies
func (r *Run) mutatingPolicies() (policies, bindings []*unstructured.Unstructured, sure bool) {
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		gv := schema.GroupVersion{Group: admissionv1.GroupName, Version: version}
		some, sureOfSome := r.List(gv.WithKind("MutatingAdmissionPolicy"), "")
		bound, sureOfBound := r.List(gv.WithKind("MutatingAdmissionPolicyBinding"), "")
		if !sureOfSome || !sureOfBound || len(some) > 0 {
			return some, bound, sureOfSome && sureOfBound
		}
	}
	return nil, nil, true
}

// matchingPolicies returns the policies that match. A policy acts only where one of its bindings matches, too.
func (r *Run) matchingPolicies(policies, bindings []*unstructured.Unstructured, kind object.Kind, u *unstructured.Unstructured) (found []object.Ref) {
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
	return found
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
