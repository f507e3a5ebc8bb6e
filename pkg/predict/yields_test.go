package predict

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// A field that the annotation yields stays yielded unless a flag takes exactly that path.
func TestTakeOverridesAnnotation(t *testing.T) {
	web := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "annotations": map[string]any{YieldAnnotation: ".spec.replicas"}},
	}}
	item := plan.Item{Object: web, Ref: object.RefOf(web), Kind: object.Kind{GVK: web.GroupVersionKind(), Resource: "deployments"}}
	for take, want := range map[string]int{
		"":                                1,
		"all":                             1,
		".spec":                           1,
		"deployment/web:.spec":            1,
		"deployment/other:.spec.replicas": 1,
		".spec.replicas":                  0,
		"deployment/web:.spec.replicas":   0,
	} {
		var p Predictor
		if take != "" {
			choices, err := ParseChoices(take)
			if err != nil {
				t.Fatal(err)
			}
			p.Take = choices
		}
		if got, err := p.yields(item, nil, nil); err != nil || len(got) != want {
			t.Errorf("--take=%s: %v, %v; want %d", take, got, err, want)
		}
	}
}
