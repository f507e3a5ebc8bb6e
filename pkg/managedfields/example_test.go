package managedfields_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// scaled is a Deployment that a deployer applied and an autoscaler scaled.
const scaled = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  managedFields:
  - {manager: ci, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}, "f:revisionHistoryLimit": {}}}}
  - {manager: hpa, operation: Update, subresource: scale, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec: {replicas: 5, paused: false, revisionHistoryLimit: 10, minReadySeconds: 0}
`

func decode(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		panic(err)
	}
	return u
}

// Who owns a field?
func ExampleOwners() {
	entries, err := managedfields.Entries(decode(scaled))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{".spec.replicas", ".spec.minReadySeconds", ".spec.template.spec.containers[0]"} {
		path, err := fieldpath.ParsePath(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		owners, err := managedfields.Owners(entries, path)
		fmt.Println(path, owners, err)
	}
	// Output:
	// .spec.replicas [hpa (scale)] <nil>
	// .spec.minReadySeconds [] <nil>
	// .spec.template.spec.containers[0] [] .spec.template.spec.containers[0] names a list item by its position, but managed fields name it by its key
}

// Which part of an object does a manager own?
func ExampleProject() {
	live := decode(scaled)
	entries, err := managedfields.Entries(live)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(managedfields.Project(live.Object, managedfields.Managed(entries, "ci")))
	// Output:
	// map[spec:map[paused:false revisionHistoryLimit:10]]
}

// How do two versions differ in what a manager owns?
func ExampleCompare() {
	live := decode(scaled)
	entries, err := managedfields.Entries(live)
	if err != nil {
		fmt.Println(err)
		return
	}
	next := live.DeepCopy()
	next.Object["spec"] = map[string]any{"replicas": int64(9), "paused": true, "revisionHistoryLimit": float64(10)}

	set := managedfields.Managed(entries, "ci")
	before, after := managedfields.Project(live.Object, set), managedfields.Project(next.Object, set)
	for _, c := range managedfields.Compare(before, after, set) {
		fmt.Println(c.Kind, c.Path, c.From, "to", c.To)
	}
	// Output:
	// changed .spec.paused false to true
}

// An object with the owner of each field.
func ExampleTree() {
	live := decode(scaled)
	entries, err := managedfields.Entries(live)
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, _ := managedfields.Tree(live.Object, entries)
	managedfields.Walk(fields, func(n managedfields.Node) {
		if n.Path.HasPrefix(fieldpath.Field("spec")) && len(n.Below) == 0 {
			fmt.Println(n.Path, n.Value, n.Owners)
		}
	})
	// Output:
	// .spec.minReadySeconds 0 []
	// .spec.paused false [ci (Apply)]
	// .spec.replicas 5 [hpa (scale)]
	// .spec.revisionHistoryLimit 10 [ci (Apply)]
}
