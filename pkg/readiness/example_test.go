package readiness_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

// The status is for an older generation, so the object is not ready yet.
func ExampleRule_Evaluate() {
	rule := readiness.For(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Database"})
	database := func(observed int64) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"generation": int64(2)},
			"status": map[string]any{
				"observedGeneration": observed,
				"conditions":         []any{map[string]any{"type": "Ready", "status": "True"}},
			},
		}
	}
	for _, observed := range []int64{1, 2} {
		verdict := rule.Evaluate(database(observed), time.Time{})
		fmt.Println(verdict.Ready, verdict.Reason)
	}
	// Output:
	// false StaleStatus
	// true Ready
}

// The rule for Deployments understands what the controller's status means: one old replica still
// exists, although all new replicas are available.
func ExampleFor() {
	rule := readiness.For(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	verdict := rule.Evaluate(map[string]any{
		"metadata": map[string]any{"generation": int64(2)},
		"spec":     map[string]any{"replicas": int64(2)},
		"status": map[string]any{
			"observedGeneration": int64(2),
			"replicas":           int64(3), "updatedReplicas": int64(2), "availableReplicas": int64(3), "readyReplicas": int64(3),
		},
	}, time.Time{})
	fmt.Println(verdict.Ready, verdict.Reason)
	fmt.Println(verdict.Message)
	// Output:
	// false InProgress
	// 1 old replica is left
}
