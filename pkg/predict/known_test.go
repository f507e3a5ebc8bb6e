package predict_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtime "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/known"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/settle"
)

// An object whose kind is known is settled without a schema: of Kubernetes' own kinds, and of
// those whose definition is as its manifest says. A definition that is to be changed says
// nothing of what will be.
func TestSettledWithoutSchema(t *testing.T) {
	const (
		definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing}
  versions:
  - name: v1
    served: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {args: {type: array, items: {type: string}}}}}}}
`
		thing  = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec: {args: [a]}\n"
		policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x}\nspec: {ingress: [{ports: [{port: 1}]}]}\n"
	)
	for name, tt := range map[string]struct {
		definition, text, live, fields string
		asked                          int
		settled                        bool
	}{
		"built in":                   {"", policy, "{ingress: [{ports: [{port: 1, protocol: TCP}]}]}", `{"f:spec": {"f:ingress": {}}}`, 0, true},
		"built in, and changed":      {"", policy, "{ingress: [{ports: [{port: 1, protocol: UDP}]}]}", `{"f:spec": {"f:ingress": {}}}`, 1, false},
		"defined":                    {"{kind: Thing}", thing, "{args: [a]}", `{"f:spec": {"f:args": {}}}`, 0, true},
		"no definition":              {"", thing, "{args: [a]}", `{"f:spec": {"f:args": {}}}`, 1, false},
		"a definition that changes":  {"{kind: Thong}", thing, "{args: [a]}", `{"f:spec": {"f:args": {}}}`, 1, false},
		"defined, and changed since": {"{kind: Thing}", thing, "{args: [b]}", `{"f:spec": {"f:args": {}}}`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			p := predict.Predictor{
				Manager: "ci",
				Known:   known.Among([]runtime.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Thing"}}),
				Schema:  func(object.Kind) openapi.Type { asked++; return nil },
			}
			evaluate := func(manifest, live *unstructured.Unstructured, fields string) settle.Verdict {
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
			if tt.definition != "" {
				stated := decode(definition)
				stated.Object["spec"].(map[string]any)["names"] = decode(tt.definition).Object
				evaluate(stated, decode(definition), `{"f:spec": {"f:group": {}, "f:names": {"f:kind": {}}, "f:versions": {}}}`)
				asked = 0
			}
			manifest, live := decode(tt.text), decode(tt.text)
			live.Object["spec"] = decode(tt.live).Object
			verdict := evaluate(manifest, live, tt.fields)
			if asked != tt.asked || (verdict == settle.Settled) != tt.settled {
				t.Errorf("%v, after %d questions", verdict, asked)
			}
		})
	}
}
