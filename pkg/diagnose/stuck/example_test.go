package stuck_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// claimInUse is a terminating claim that a Pod still mounts.
const claimInUse = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    {name: data, namespace: shop, uid: c1, deletionTimestamp: "2026-01-01T11:00:00Z", finalizers: [kubernetes.io/pvc-protection]}
- apiVersion: v1
  kind: Pod
  metadata: {name: db-0, namespace: shop, uid: p1}
  spec: {nodeName: n1, volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}
  status: {phase: Running}
`

// A claim is not deleted while a Pod uses it.
func ExampleDiagnose() {
	list := &unstructured.UnstructuredList{}
	data, err := yaml.YAMLToJSON([]byte(claimInUse))
	if err == nil {
		err = list.UnmarshalJSON(data)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := &diagnosetest.Memory{}
	for i := range list.Items {
		reader.Objects = append(reader.Objects, &list.Items[i])
	}
	explainer := &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: reader, Now: diagnosetest.Now}}
	facts, err := explainer.Gather(context.Background(), reader.Objects[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, cause := range stuck.Diagnose(facts) {
		fmt.Println(cause.Code)
		fmt.Println(cause.Message)
		fmt.Println("blocked by", cause.BlockedBy)
	}
	// Output:
	// ClaimInUse
	// the claim is in use by pod/db-0 -n shop, and will go away once no pod uses it
	// blocked by pod/db-0 -n shop
}
