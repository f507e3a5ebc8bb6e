package wait

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
)

// Without a server, an ambiguous name means Kubernetes' own kind; the other kinds of that name are
// listed.
func TestKnownKinds(t *testing.T) {
	for named, want := range map[string][]schema.GroupKind{
		"NetworkPolicy":                         {{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, {Group: "crd.projectcalico.org", Kind: "NetworkPolicy"}},
		"networkpolicies":                       {{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, {Group: "crd.projectcalico.org", Kind: "NetworkPolicy"}},
		"netpol":                                {{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, {Group: "crd.projectcalico.org", Kind: "NetworkPolicy"}},
		"networkpolicies.crd.projectcalico.org": {{Group: "crd.projectcalico.org", Kind: "NetworkPolicy"}},
		"deploy":                                {{Group: "apps", Kind: "Deployment"}},
		"Canary":                                {{Group: "flagger.app", Kind: "Canary"}},
		"Widget":                                nil,
		"widgets.example.com":                   nil,
	} {
		got := knownKinds(named, &condition.Set{})
		if len(got) < len(want) || len(want) < 2 && len(got) != len(want) {
			t.Errorf("%s: %v, want %v", named, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", named, got, want)
			}
		}
	}
	for _, named := range []string{"Service", "Ingress", "Role", "pods", "PersistentVolumeClaim", "Event"} {
		if gk := knownKinds(named, &condition.Set{})[0]; gk.Group != "" && gk.Group != "networking.k8s.io" && gk.Group != "rbac.authorization.k8s.io" {
			t.Errorf("%s: got %s, want a kind of Kubernetes", named, gk)
		}
	}
}
