package diagnose

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Hook is one admission webhook, validating or mutating.
type Hook struct {
	// Config is the object that holds the webhook, at Index.
	Config object.Ref
	Index  int
	Name   string

	Service *Service // nil if it is called by URL
	URL     string
	// Strict: an update is refused if the webhook cannot be called.
	Strict bool
	// Conditional: it has match conditions, which only the server evaluates.
	Conditional bool

	rules       []admissionv1.RuleWithOperations
	equivalent  bool
	ofNamespace *metav1.LabelSelector
	ofObject    *metav1.LabelSelector
}

// Service is the address of a webhook or an API.
type Service struct {
	Namespace, Name string
}

// Hooks returns all webhooks of the cluster, sorted by name.
func (r *Run) Hooks() ([]Hook, bool) {
	made := Once(r, "hooks", r.readHooks)
	return made.items, made.sure
}

func (r *Run) readHooks() result[Hook] {
	mutating, sure := r.List(WebhookKind("MutatingWebhookConfiguration"), "")
	validating, sureOfValidating := r.List(WebhookKind("ValidatingWebhookConfiguration"), "")
	var hooks []Hook
	for _, u := range mutating {
		c, _ := As[admissionv1.MutatingWebhookConfiguration](u)
		for i, w := range c.Webhooks {
			h := Hook{Config: object.RefOf(u), Index: i, Name: w.Name, rules: w.Rules, ofNamespace: w.NamespaceSelector, ofObject: w.ObjectSelector}
			hooks = append(hooks, h.with(w.ClientConfig, w.FailurePolicy, w.MatchPolicy, w.MatchConditions))
		}
	}
	for _, u := range validating {
		c, _ := As[admissionv1.ValidatingWebhookConfiguration](u)
		for i, w := range c.Webhooks {
			h := Hook{Config: object.RefOf(u), Index: i, Name: w.Name, rules: w.Rules, ofNamespace: w.NamespaceSelector, ofObject: w.ObjectSelector}
			hooks = append(hooks, h.with(w.ClientConfig, w.FailurePolicy, w.MatchPolicy, w.MatchConditions))
		}
	}
	return result[Hook]{hooks, sure && sureOfValidating}
}

// WebhookKind returns a kind of webhook configuration.
func WebhookKind(kind string) schema.GroupVersionKind {
	return KindOf("admissionregistration.k8s.io/v1", kind)
}

// with sets what validating and mutating webhooks share, with the server's defaults.
func (h Hook) with(c admissionv1.WebhookClientConfig, f *admissionv1.FailurePolicyType, m *admissionv1.MatchPolicyType, conditions []admissionv1.MatchCondition) Hook {
	if c.Service != nil {
		h.Service = &Service{Namespace: c.Service.Namespace, Name: c.Service.Name}
	}
	if c.URL != nil {
		h.URL = *c.URL
	}
	h.Strict = f == nil || *f == admissionv1.Fail
	h.equivalent = m == nil || *m == admissionv1.Equivalent
	h.Conditional = len(conditions) > 0
	return h
}

// HooksFor returns the webhooks that the server calls for an operation on the object, by their
// rules and selectors (edge case 61).
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

// hooksOf returns the webhooks that name the object's group, which its authors serve.
func (r *Run) hooksOf(u *unstructured.Unstructured) []Hook {
	group := u.GroupVersionKind().Group
	hooks, _ := r.Hooks()
	return slices.DeleteFunc(slices.Clone(hooks), func(h Hook) bool {
		return !strings.Contains(group, ".") || !slices.ContainsFunc(h.rules, func(r admissionv1.RuleWithOperations) bool {
			return slices.Contains(r.APIGroups, group)
		})
	})
}

// hears reports whether a rule of the webhook covers the operation.
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
			(has(r.Resources, kind.Resource, "*") || has(r.Resources, kind.Resource+"/*", "*/*")) // the object itself is one of its parts
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
		return true // Objects without a namespace are never exempt.
	}
	ns, sure := r.Get(KindOf("v1", "Namespace"), "", u.GetNamespace())
	if ns == nil {
		return !sure // A namespace that we cannot read may be selected.
	}
	return Selects(h.ofNamespace, ns.GetLabels())
}

// Selects reports whether a selector selects the labels; no selector selects all.
func Selects(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}
