package predict_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

// live is a Deployment that ci applied, and an autoscaler scaled.
const live = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  managedFields:
  - {manager: ci, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}}}}
  - {manager: hpa, operation: Update, subresource: scale, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec: {replicas: 5, paused: false}
`

func decode(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		panic(err)
	}
	return u
}

// Evaluate predicts an apply from the live object. [predict.Predictor.Ask] resolves doubts with a
// dry run.
func ExamplePredictor_Evaluate() {
	yield, err := predict.ParseChoices("deployment/web:.spec.replicas")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tt := range []struct {
		predictor predict.Predictor
		spec      string
	}{
		{predict.Predictor{Manager: "ci"}, "{paused: false}"},
		{predict.Predictor{Manager: "ci"}, "{paused: true}"},
		{predict.Predictor{Manager: "ci"}, "{paused: false, replicas: 3}"},
		{predict.Predictor{Manager: "ci", Yield: yield}, "{paused: false, replicas: 3}"},
	} {
		manifest := decode("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: " + tt.spec + "}")
		item := plan.Item{Object: manifest, Ref: object.RefOf(manifest)}
		prediction, err := tt.predictor.Evaluate(item, decode(live))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(tt.spec, prediction.Verdict, prediction.Yielded, prediction.Body.Object["spec"])
	}
	// Output:
	// {paused: false} unchanged [] map[paused:false]
	// {paused: true} clear [] map[paused:true]
	// {paused: false, replicas: 3} contested [] map[paused:false replicas:3]
	// {paused: false, replicas: 3} unchanged [.spec.replicas] map[paused:false]
}

// Without a server, Evaluate shows the likely conflicts.
func Example_settle() {
	manifest := decode("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {paused: false, replicas: 3}}")
	verdict, conflicts := noop.Evaluate(decode(live), manifest, "ci")
	for _, c := range conflicts {
		fmt.Println(verdict, c.Path, "yours", c.Yours, "live", c.Live, c.Owners)
	}
	// Output:
	// contested .spec.replicas yours 3 live 5 [hpa (scale)]
}

// Taken returns the fields that a forced apply, or its dry run, takes from others.
func ExampleTaken() {
	answer := decode(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  managedFields:
  - {manager: ci, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:paused": {}, "f:replicas": {}}}}
spec: {replicas: 3, paused: false}
`)
	manifest := decode("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {paused: false, replicas: 3}}")
	taken, err := predict.Taken(decode(live), answer, manifest, "ci")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range taken {
		fmt.Println(c.Path, "yours", c.Yours, "live", c.Live, c.Owners)
	}
	// Output:
	// .spec.replicas yours 3 live 5 [hpa (scale)]
}
