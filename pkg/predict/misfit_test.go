package predict_test

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

// The server's messages are those of Kubernetes 1.36.
func TestMisfits(t *testing.T) {
	const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replica: 3
  revison: 1
  paused: 7
  ports: [{port: 53, protocol: UDP, name: 1.5}, {port: 80, name: true}]
`
	const head = "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): "
	field := spec.Schema{}
	of := published.Of(&spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{
		"spec": {SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{"replicas": field, "paused": field, "revision": field}}},
	}}})
	schema := func(object.Kind) openapi.Type { return of }
	for name, tt := range map[string]struct{ text, want, hint string }{
		"a number": {
			head + `.spec.ports[port=53,protocol="UDP"].name: expected string, got &value.valueUnstructured{Value:1.5}`,
			head + `.spec.ports[port=53,protocol="UDP"].name: expected text, got the number 1.5`, "quote it (web.yaml:1)",
		},
		"list item whose key has a default": {
			head + `.spec.ports[port=80,protocol="TCP"].name: expected string, got &value.valueUnstructured{Value:true}`,
			head + `.spec.ports[port=80,protocol="TCP"].name: expected text, got true`, "quote it (web.yaml:1)",
		},
		"another type": {
			head + `.spec.paused: expected boolean, got &value.valueUnstructured{Value:7}`,
			head + `.spec.paused: expected true or false, got the number 7`, "",
		},
		"a list": {
			head + `.spec.ports: expected map, got &value.valueUnstructured{Value:[]interface {}{map[string]interface {}{"port":53}}}`,
			head + `.spec.ports: expected a mapping, got a list`, "",
		},
		"unknown": {head + ".spec.replica: field not declared in schema", head + ".spec.replica: field not declared in schema", "did you mean .spec.replicas?"},
		"several": {
			head + "errors:\n  .spec.replica: field not declared in schema\n  .spec.ports[port=53,protocol=\"UDP\"].name: expected string, got &value.valueUnstructured{Value:1.5}",
			head + "errors:\n  .spec.replica: field not declared in schema\n  .spec.ports[port=53,protocol=\"UDP\"].name: expected text, got the number 1.5",
			"quote it (web.yaml:1); did you mean .spec.replicas?",
		},
		"several errors of the same kind": {
			head + "errors:\n  .spec.replica: field not declared in schema\n  .spec.revison: field not declared in schema",
			head + "errors:\n  .spec.replica: field not declared in schema\n  .spec.revison: field not declared in schema",
			"did you mean .spec.replicas and .spec.revision?",
		},
		"unrelated server error":               {"etcd is away", "etcd is away", ""},
		"unknown field without a similar name": {head + ".spec.xyz: field not declared in schema", head + ".spec.xyz: field not declared in schema", ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
				t.Fatal(err)
			}
			in := &predict.Prediction{Item: plan.Item{
				Ref: object.RefOf(u), Object: u, Source: object.Source{File: "web.yaml", Line: 1},
			}}
			refusal := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: tt.text}}
			err := predict.Predictor{Validation: "Strict", Schema: schema}.Explain(t.Context(), nil, in, refusal)
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
			var hinted interface{ Hint() string }
			hint := ""
			if errors.As(err, &hinted) {
				hint = hinted.Hint()
			}
			if hint != tt.hint || !errors.Is(err, refusal) {
				t.Errorf("hint %q, want %q", hint, tt.hint)
			}
		})
	}
}
