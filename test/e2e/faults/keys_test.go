package faults_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// One write that takes 3,000 keys causes no gap. The object's record lists the newest
// takeovers and counts the others (edge case 81).
func TestManyKeys(t *testing.T) {
	const keys = 3000
	tr := begin(t, cluster.Options{})
	tr.first(t)
	tr.replica(t)
	configMaps := tr.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	for _, manager := range []string{"flux", "argo"} {
		data := map[string]any{}
		for n := range keys {
			data[fmt.Sprintf("k%04d", n)] = manager
		}
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "rules"}, "data": data,
		}}
		if _, err := configMaps.Apply(t.Context(), "rules", o, metav1.ApplyOptions{FieldManager: manager, Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	listed, others := 0, 0
	for started := time.Now(); listed+others < keys && time.Since(started) < patience; time.Sleep(200 * time.Millisecond) {
		records, err := tr.records(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Object.Name == "rules" {
				listed, others = len(r.Entries), r.Dropped+r.Lost
			}
		}
	}
	if listed+others != keys || listed == 0 {
		t.Errorf("the record lists %d takeovers and counts %d others, want %d together", listed, others, keys)
	}
	for !tr.idle(t.Context()) {
		time.Sleep(200 * time.Millisecond)
	}
	if gaps := tr.coverage(t).Gaps; len(gaps) > 0 {
		t.Errorf("gaps are declared: %v", gaps)
	}
}
