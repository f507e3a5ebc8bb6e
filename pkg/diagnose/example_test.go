package diagnose_test

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
)

// twoObjects is a Reader of a Pod and the claim that it mounts.
type twoObjects struct{ diagnose.Reader }

func (twoObjects) Get(_ context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	objects := map[string]map[string]any{
		"Pod":                   {"spec": map[string]any{"volumes": []any{map[string]any{"persistentVolumeClaim": map[string]any{"claimName": "data"}}}}},
		"PersistentVolumeClaim": {"status": map[string]any{"phase": "Pending"}},
	}
	u := &unstructured.Unstructured{Object: objects[gvk.Kind]}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u, nil
}

// The rule asks for the Pod, and then for the claim that the Pod mounts. After each answer, the
// rule runs again.
func ExampleGatherer_Fill() {
	gatherer := diagnose.Gatherer{Reader: twoObjects{}}
	var message []string
	err := gatherer.Fill(context.Background(), diagnose.NewFacts(), func(r *diagnose.Run) {
		message = nil
		pod, sure := r.Get(diagnose.KindOf("v1", "Pod"), "prod", "web")
		if !sure || pod == nil {
			return
		}
		for _, volume := range diagnose.Items(pod, "spec", "volumes") {
			name, _, _ := unstructured.NestedString(volume, "persistentVolumeClaim", "claimName")
			claim, sure := r.Get(diagnose.KindOf("v1", "PersistentVolumeClaim"), "prod", name)
			if sure && diagnose.Text(claim, "status", "phase") == "Pending" {
				message = append(message, "claim "+name+" has no volume")
			}
		}
	})
	fmt.Println(strings.Join(message, "\n"), err)
	fmt.Println(gatherer.Requests(), "requests")
	// Output:
	// claim data has no volume <nil>
	// 2 requests
}
