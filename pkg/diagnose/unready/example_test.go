package unready_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// fullQueue is a Pod that fits on no node.
const fullQueue = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - {name: app, image: web:1.2, resources: {requests: {cpu: "64"}}}
status:
  phase: Pending
  conditions:
  - {type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu."}
`

// Gather reads the facts that the rules ask for. Diagnose only evaluates them.
func ExampleDiagnose() {
	pod := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fullQueue), &pod.Object); err != nil {
		fmt.Println(err)
		return
	}
	reader := &diagnosetest.Memory{Objects: []*unstructured.Unstructured{pod}}
	facts, err := unready.Gather(context.Background(), reader, pod)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, cause := range unready.Diagnose(facts) {
		fmt.Println(cause.Code)
		fmt.Println(cause.Message)
	}
	// Output:
	// Unschedulable
	// pod/web -n shop: fits none of 3 nodes: 3 have too little cpu
}
