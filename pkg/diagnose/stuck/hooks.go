package stuck

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

// hook is one admission webhook, of either sort.
type hook struct {
	// config is the object that holds it, at index.
	config object.Ref
	index  int
	name   string

	service *service // nil where it is called by URL
	url     string
	// strict: an update that it can not be asked about is refused.
	strict bool
	// conditional: it has match conditions, which only the server evaluates.
	conditional bool

	rules       []admissionv1.RuleWithOperations
	equivalent  bool
	ofNamespace *metav1.LabelSelector
	ofObject    *metav1.LabelSelector
}

// service is where a webhook or an API is served.
type service struct {
	namespace, name string
}

// hooks are all webhooks of the cluster, in the order of their names.
func (d *diagnosis) hooks() ([]hook, bool) {
	r := once(d, "hooks", d.readHooks)
	return r.items, r.sure
}

func (d *diagnosis) readHooks() result[hook] {
	mutating, sure := d.list(webhooks("MutatingWebhookConfiguration"), "")
	validating, sureOfValidating := d.list(webhooks("ValidatingWebhookConfiguration"), "")
	var hooks []hook
	for _, u := range mutating {
		c, _ := as[admissionv1.MutatingWebhookConfiguration](u)
		for i, w := range c.Webhooks {
			h := hook{config: object.RefOf(u), index: i, name: w.Name, rules: w.Rules, ofNamespace: w.NamespaceSelector, ofObject: w.ObjectSelector}
			hooks = append(hooks, h.with(w.ClientConfig, w.FailurePolicy, w.MatchPolicy, w.MatchConditions))
		}
	}
	for _, u := range validating {
		c, _ := as[admissionv1.ValidatingWebhookConfiguration](u)
		for i, w := range c.Webhooks {
			h := hook{config: object.RefOf(u), index: i, name: w.Name, rules: w.Rules, ofNamespace: w.NamespaceSelector, ofObject: w.ObjectSelector}
			hooks = append(hooks, h.with(w.ClientConfig, w.FailurePolicy, w.MatchPolicy, w.MatchConditions))
		}
	}
	return result[hook]{hooks, sure && sureOfValidating}
}

func webhooks(kind string) schema.GroupVersionKind {
	return kindOf("admissionregistration.k8s.io/v1", kind)
}

// with fills in what both sorts of webhooks have, with the server's defaults.
func (h hook) with(c admissionv1.WebhookClientConfig, f *admissionv1.FailurePolicyType, m *admissionv1.MatchPolicyType, conditions []admissionv1.MatchCondition) hook {
	if c.Service != nil {
		h.service = &service{namespace: c.Service.Namespace, name: c.Service.Name}
	}
	if c.URL != nil {
		h.url = *c.URL
	}
	h.strict = f == nil || *f == admissionv1.Fail
	h.equivalent = m == nil || *m == admissionv1.Equivalent
	h.conditional = len(conditions) > 0
	return h
}

// hooksFor are the webhooks that are asked about an operation on the object, by
// their rules and selectors (edge case 61).
func (d *diagnosis) hooksFor(u *unstructured.Unstructured, operation admissionv1.OperationType) []hook {
	hooks, _ := d.hooks()
	if len(hooks) == 0 {
		return nil
	}
	kind, ok := d.kind(u)
	if !ok {
		return nil
	}
	var matching []hook
	for _, h := range hooks {
		if h.hears(kind, operation) && selects(h.ofObject, u.GetLabels()) && d.inNamespaceOf(h, u) {
			matching = append(matching, h)
		}
	}
	return matching
}

// hooksOf are the webhooks that name the object's group: its makers serve them.
func (d *diagnosis) hooksOf(u *unstructured.Unstructured) []hook {
	group := u.GroupVersionKind().Group
	hooks, _ := d.hooks()
	return slices.DeleteFunc(slices.Clone(hooks), func(h hook) bool {
		return !strings.Contains(group, ".") || !slices.ContainsFunc(h.rules, func(r admissionv1.RuleWithOperations) bool {
			return slices.Contains(r.APIGroups, group)
		})
	})
}

// kind is what the server says of the object's kind.
func (d *diagnosis) kind(u *unstructured.Unstructured) (object.Kind, bool) {
	kinds, _ := d.kinds()
	gvk := u.GroupVersionKind()
	i := slices.IndexFunc(kinds, func(k object.Kind) bool { return k.GVK.GroupKind() == gvk.GroupKind() })
	if i < 0 {
		return object.Kind{}, false
	}
	kind := kinds[i]
	kind.GVK = gvk
	return kind, true
}

// hears tells whether a rule of the webhook is about the operation.
func (h hook) hears(kind object.Kind, operation admissionv1.OperationType) bool {
	return slices.ContainsFunc(h.rules, func(r admissionv1.RuleWithOperations) bool {
		scope := admissionv1.AllScopes
		if r.Scope != nil {
			scope = *r.Scope
		}
		scoped := scope == admissionv1.AllScopes || (scope == admissionv1.NamespacedScope) == kind.Namespaced
		return scoped && has(r.Operations, operation, admissionv1.OperationAll) &&
			has(r.APIGroups, kind.GVK.Group, "*") &&
			(h.equivalent || has(r.APIVersions, kind.GVK.Version, "*")) &&
			(has(r.Resources, kind.Resource, "*") || has(r.Resources, kind.Resource+"/*", "*/*")) // the object itself among its parts
	})
}

func has[T comparable](list []T, item, wildcard T) bool {
	return slices.Contains(list, item) || slices.Contains(list, wildcard)
}

func (d *diagnosis) inNamespaceOf(h hook, u *unstructured.Unstructured) bool {
	if h.ofNamespace == nil || len(h.ofNamespace.MatchLabels)+len(h.ofNamespace.MatchExpressions) == 0 {
		return true
	}
	if isKind(u, "", "Namespace") {
		return selects(h.ofNamespace, u.GetLabels())
	}
	if u.GetNamespace() == "" {
		return true // Objects without a namespace are never exempt.
	}
	ns, sure := d.get(kindOf("v1", "Namespace"), "", u.GetNamespace())
	if ns == nil {
		return !sure // What we can not see may be selected.
	}
	return selects(h.ofNamespace, ns.GetLabels())
}

// selects tells whether a selector, of which none selects all, selects the labels.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}
