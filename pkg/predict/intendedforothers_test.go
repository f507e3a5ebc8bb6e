package predict

import (
	"slices"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Each field is within itself and each of its parents, and within no other path.
func TestIsWithin(t *testing.T) {
	for _, m := range intendedForOthers() {
		text := m.field
		switch m.field {
		case "webhooks.clientConfig.caBundle":
			text = `webhooks[name="a"].clientConfig.caBundle`
		case "metadata.annotations.deployment.kubernetes.io/revision":
			text = `metadata.annotations["deployment.kubernetes.io/revision"]`
		}
		path, err := fieldpath.ParsePath("." + text)
		if err != nil {
			t.Fatal(err)
		}
		if !m.Is(path) {
			t.Errorf("%s is not %s", path, m.field)
		}
		for n := range path {
			if !m.IsWithin(path[:n+1]) {
				t.Errorf("%s is not within %s", m.field, path[:n+1])
			}
		}
		other := "other"
		for n := range path {
			if path[n].FieldName == nil {
				continue
			}
			aside := append(slices.Clone(path[:n]), fieldpath.Element{FieldName: &other})
			if m.IsWithin(aside) {
				t.Errorf("%s is within %s", m.field, aside)
			}
		}
	}
}
