package table

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Adoption is offered if it settles all conflicts of a run.
func TestAdoptionIsOfferedForAll(t *testing.T) {
	for other, want := range map[string]string{"flux": "flux", "other": "", "": ""} {
		if got := soleOwner([]event.Applied{{AdoptFrom: "flux"}, {AdoptFrom: other}}); got != want {
			t.Errorf("flux and %q: offered %q", other, got)
		}
	}
}
