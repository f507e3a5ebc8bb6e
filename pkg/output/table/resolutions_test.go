package table

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Adoption is offered for what a tool applies, never for what a person did by hand.
func TestAdoptionIsOfferedForAppliers(t *testing.T) {
	for manager, want := range map[string]string{
		"flux": "flux", "helm": "helm", "kubectl": "kubectl", "kubectl-client-side-apply": "kubectl-client-side-apply",
		"kubectl-set": "", "kubectl-patch": "", "kubectl-edit": "", "kubectl-create": "", "": "",
	} {
		if got := soleOwner([]event.Applied{{AdoptFrom: manager}, {AdoptFrom: manager}}); got != want {
			t.Errorf("%q: offered %q", manager, got)
		}
		if got := soleOwner([]event.Applied{{AdoptFrom: manager}, {AdoptFrom: "other"}}); got != "" {
			t.Errorf("%q beside another: offered %q", manager, got)
		}
	}
}
