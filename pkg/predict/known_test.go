package predict_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/local"
)

func TestSettledWithoutSchema(t *testing.T) {
	const (
		thing  = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec: {args: [a]}\n"
		policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x}\nspec: {ingress: [{ports: [{port: 1}]}]}\n"
	)
	for name, tt := range map[string]struct {
		text, live, fields string
		asked              int
		settled            bool
	}{
		"built in":              {policy, "{ingress: [{ports: [{port: 1, protocol: TCP}]}]}", `{"f:spec": {"f:ingress": {}}}`, 0, true},
		"built in, and changed": {policy, "{ingress: [{ports: [{port: 1, protocol: UDP}]}]}", `{"f:spec": {"f:ingress": {}}}`, 1, false},
		"another":               {thing, "{args: [a]}", `{"f:spec": {"f:args": {}}}`, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			p := predict.Predictor{
				Manager: "ci",
				Known:   new(local.Types).Of,
				Schema:  func(object.Kind) openapi.Type { asked++; return nil },
			}
			evaluate := func(manifest, live *unstructured.Unstructured, fields string) noop.Verdict {
				t.Helper()
				live.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
					"manager": "ci", "operation": "Apply", "apiVersion": live.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": decode(fields).Object,
				}}
				gvk := manifest.GroupVersionKind()
				prediction, err := p.Evaluate(plan.Item{Object: manifest, Ref: object.RefOf(manifest), Kind: object.Kind{GVK: gvk, Resource: "things"}}, live)
				if err != nil {
					t.Fatal(err)
				}
				return prediction.Verdict
			}
			manifest, live := decode(tt.text), decode(tt.text)
			live.Object["spec"] = decode(tt.live).Object
			verdict := evaluate(manifest, live, tt.fields)
			if asked != tt.asked || (verdict == noop.Unchanged) != tt.settled {
				t.Errorf("got verdict %v after %d schema requests", verdict, asked)
			}
		})
	}
}
