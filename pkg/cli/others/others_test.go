package others

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Helm's next upgrade conflicts with a field that a run takes from it. The upgrades of a Flux
// HelmRelease, and the runs of other GitOps tools, overwrite the field.
func TestNextRunOfTheOwner(t *testing.T) {
	for of, want := range map[string]string{
		"Helm release":        "its next upgrade will conflict in 1 field",
		"Flux HelmRelease":    "its next upgrade will overwrite 1 field",
		"Flux Kustomization":  "its next run will overwrite 1 field",
		"Argo CD Application": "its next sync will overwrite 1 field",
	} {
		var c Collector
		one := claimed{conflicts: 1}
		if tools()[of].overwrites(managedfields.Apply) {
			one = claimed{overwrites: 1}
		}
		if got := c.written(applyset.Claim{Of: of}, &one); got != want {
			t.Errorf("%s: %q, want %q", of, got, want)
		}
	}
}
