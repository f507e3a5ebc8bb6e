package cluster

import (
	"slices"
	"sync"

	admission "k8s.io/api/admissionregistration/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// admissionHooks are the webhooks of the cluster, read once, and only when something
// was refused.
type admissionHooks struct {
	once  sync.Once
	hooks []admissionHook
}

type admissionHook struct {
	name   string
	client admission.WebhookClientConfig
	rules  []admission.RuleWithOperations
}

// means reports whether the rules match writes of the kind. The version is ignored: a
// webhook gets objects in the version that it wants.
func (h admissionHook) means(kind object.Kind) bool {
	return slices.ContainsFunc(h.rules, func(rule admission.RuleWithOperations) bool {
		groups := slices.Contains(rule.APIGroups, kind.GVK.Group) || slices.Contains(rule.APIGroups, "*")
		return groups && slices.ContainsFunc(rule.Resources, func(resource string) bool {
			return resource == kind.Resource || resource == "*" || resource == "*/*" || resource == kind.Resource+"/*"
		})
	})
}
