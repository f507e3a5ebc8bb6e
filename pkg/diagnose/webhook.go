package diagnose

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Hook is one admission webhook, validating or mutating.
type Hook struct {
	// Config is the webhook configuration, and Index is the position of the webhook in it.
	Config object.Ref
	Index  int
	Name   string

	Service *Service // nil if it is called by URL
	URL     string
	// Strict is set if the server refuses the operation when the webhook cannot be called.
	Strict bool
	// Conditional is set if the webhook has match conditions, which only the server can evaluate.
	Conditional bool

	rules       []admissionv1.RuleWithOperations
	equivalent  bool
	ofNamespace *metav1.LabelSelector
	ofObject    *metav1.LabelSelector
}

// Service is the Service through which a webhook or an API is reached.
type Service struct {
	Namespace, Name string
}

// Hooks returns all webhooks, and whether all could be read.
func (r *Run) Hooks() ([]Hook, bool) {
	made := Once(r, "hooks", func() result[Hook] {
		mutating, sure := r.List(admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"), "")
		validating, sureOfValidating := r.List(admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), "")
		var hooks []Hook
		for _, u := range slices.Concat(mutating, validating) {
			// A mutating webhook has the same fields here.
			c, _ := As[admissionv1.ValidatingWebhookConfiguration](u)
			for i, w := range c.Webhooks {
				hooks = append(hooks, hookOf(object.RefOf(u), i, w))
			}
		}
		return result[Hook]{hooks, sure && sureOfValidating}
	})
	return made.items, made.sure
}

func hookOf(config object.Ref, index int, w admissionv1.ValidatingWebhook) Hook {
	h := Hook{
		Config: config, Index: index, Name: w.Name, rules: w.Rules, ofNamespace: w.NamespaceSelector, ofObject: w.ObjectSelector,
		Strict:      w.FailurePolicy == nil || *w.FailurePolicy == admissionv1.Fail,
		equivalent:  w.MatchPolicy == nil || *w.MatchPolicy == admissionv1.Equivalent,
		Conditional: len(w.MatchConditions) > 0,
	}
	if s := w.ClientConfig.Service; s != nil {
		h.Service = &Service{Namespace: s.Namespace, Name: s.Name}
	}
	if w.ClientConfig.URL != nil {
		h.URL = *w.ClientConfig.URL
	}
	return h
}

// HooksFor returns the webhooks that the server calls for an operation on the object (edge case
// 61).
func (r *Run) HooksFor(u *unstructured.Unstructured, operation admissionv1.OperationType) []Hook {
	hooks, _ := r.Hooks()
	if len(hooks) == 0 {
		return nil
	}
	kind, ok := r.Kind(u)
	if !ok {
		return nil
	}
	var matching []Hook
	for _, h := range hooks {
		if h.hears(kind, operation) && Selects(h.ofObject, u.GetLabels()) && r.inNamespaceOf(h, u) {
			matching = append(matching, h)
		}
	}
	return matching
}

// hooksOf returns webhooks whose rules name the object's group. The authors of the group usually
// serve such webhooks.
func (r *Run) hooksOf(u *unstructured.Unstructured) []Hook {
	group := u.GroupVersionKind().Group
	hooks, _ := r.Hooks()
	return slices.DeleteFunc(slices.Clone(hooks), func(h Hook) bool {
		return !strings.Contains(group, ".") || !slices.ContainsFunc(h.rules, func(r admissionv1.RuleWithOperations) bool {
			return slices.Contains(r.APIGroups, group)
		})
	})
}

func (h Hook) hears(kind object.Kind, operation admissionv1.OperationType) bool {
	return slices.ContainsFunc(h.rules, func(r admissionv1.RuleWithOperations) bool {
		scope := admissionv1.AllScopes
		if r.Scope != nil {
			scope = *r.Scope
		}
		scoped := scope == admissionv1.AllScopes || (scope == admissionv1.NamespacedScope) == kind.Namespaced
		return scoped && has(r.Operations, operation, admissionv1.OperationAll) &&
			has(r.APIGroups, kind.GVK.Group, "*") &&
			(h.equivalent || has(r.APIVersions, kind.GVK.Version, "*")) &&
			(has(r.Resources, kind.Resource, "*") || has(r.Resources, kind.Resource+"/*", "*/*")) // "/*" includes the object itself
	})
}

func has[T comparable](list []T, item, wildcard T) bool {
	return slices.Contains(list, item) || slices.Contains(list, wildcard)
}

func (r *Run) inNamespaceOf(h Hook, u *unstructured.Unstructured) bool {
	if h.ofNamespace == nil || len(h.ofNamespace.MatchLabels)+len(h.ofNamespace.MatchExpressions) == 0 {
		return true
	}
	if IsKind(u, "", "Namespace") {
		return Selects(h.ofNamespace, u.GetLabels())
	}
	if u.GetNamespace() == "" {
		return true // The selector does not apply to cluster-scoped objects.
	}
	ns, sure := r.Get(KindOf("v1", "Namespace"), "", u.GetNamespace())
	if ns == nil {
		return !sure // The selector may match a namespace that we cannot read.
	}
	return Selects(h.ofNamespace, ns.GetLabels())
}

// Selects reports whether a selector matches the labels. Nil matches everything.
func Selects(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}
