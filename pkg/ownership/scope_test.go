package ownership_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

func TestScope(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	kinds := func(names ...string) map[string]time.Time {
		out := map[string]time.Time{}
		for _, name := range names {
			out[name] = time.Time{}
		}
		return out
	}
	first := ownership.Scope{
		Kinds: kinds("ConfigMap", "Deployment.apps", "Node"), Refused: []string{"Bird.example.com"},
		Never: []string{"Event"}, ExcludedKinds: []string{"Secret"}, ExcludedNamespaces: []string{"kube-system", "loud"},
	}.After(ownership.Scope{}, day(1))
	second := ownership.Scope{
		Kinds: kinds("ConfigMap", "Node", "Bird.example.com", "Secret"), Refused: []string{"Node"},
		ExcludedNamespaces: []string{"kube-system", "calm"},
	}.After(first, day(5))
	third := ownership.Scope{Kinds: kinds("ConfigMap", "Node", "Secret")}.After(second, day(9))

	bird := schema.GroupKind{Group: "example.com", Kind: "Bird"}
	core := func(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }
	for name, test := range map[string]struct {
		scope     ownership.Scope
		kind      schema.GroupKind
		namespace string
		since     time.Time
		why       ownership.Omission
	}{
		"tracked":                                        {first, core("ConfigMap"), "prod", day(1), ownership.OmissionNone},
		"tracked kind in an API group":                   {first, schema.GroupKind{Group: "apps", Kind: "Deployment"}, "prod", day(1), ownership.OmissionNone},
		"of the same name in another group":              {first, schema.GroupKind{Group: "example.com", Kind: "Deployment"}, "prod", time.Time{}, ownership.OmissionUnseen},
		"without a namespace":                            {first, core("Node"), "", day(1), ownership.OmissionNone},
		"a kind that is never tracked":                   {first, core("Event"), "kube-system", time.Time{}, ownership.OmissionNever},
		"an excluded kind":                               {first, core("Secret"), "prod", time.Time{}, ownership.OmissionKind},
		"an excluded namespace":                          {first, core("ConfigMap"), "kube-system", time.Time{}, ownership.OmissionNamespace},
		"cluster-scoped kind in a later scope":           {third, core("Node"), "", day(1), ownership.OmissionNone},
		"refused":                                        {first, bird, "prod", time.Time{}, ownership.OmissionRefused},
		"permitted later":                                {second, bird, "prod", day(5), ownership.OmissionNone},
		"refused later":                                  {second, core("Node"), "", time.Time{}, ownership.OmissionRefused},
		"not excluded any more, as a kind":               {second, core("Secret"), "prod", day(5), ownership.OmissionNone},
		"not excluded any more, as a namespace":          {second, core("ConfigMap"), "loud", day(5), ownership.OmissionNone},
		"namespace stays included in the next scope":     {third, core("ConfigMap"), "loud", day(5), ownership.OmissionNone},
		"excluded later, and then not any more":          {third, core("ConfigMap"), "calm", day(9), ownership.OmissionNone},
		"tracked all the time":                           {third, core("ConfigMap"), "prod", day(1), ownership.OmissionNone},
		"not tracked any more":                           {third, bird, "prod", time.Time{}, ownership.OmissionUnseen},
		"empty scope":                                    {ownership.Scope{}, core("ConfigMap"), "prod", time.Time{}, ownership.OmissionUnseen},
		"namespace included after the kind":              {third, core("Secret"), "calm", day(9), ownership.OmissionNone},
		"kind and namespace included at the same time":   {third, core("Secret"), "loud", day(5), ownership.OmissionNone},
		"excluded kind in an excluded namespace":         {first, core("Secret"), "kube-system", time.Time{}, ownership.OmissionKind},
		"refused kind in an excluded namespace":          {first, bird, "kube-system", time.Time{}, ownership.OmissionNamespace},
		"kind in an API group that is no longer tracked": {second, schema.GroupKind{Group: "apps", Kind: "Deployment"}, "prod", time.Time{}, ownership.OmissionUnseen},
	} {
		t.Run(name, func(t *testing.T) {
			since, why := test.scope.Of(test.kind, test.namespace)
			if !since.Equal(test.since) || why != test.why {
				t.Errorf("since %s, %d; want %s, %d", since, why, test.since, test.why)
			}
		})
	}
}
