package predict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/local"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Nulls and empty key fields are not sent (edge case 16).
func TestNullsAreLeftOut(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: a, resourceVersion: '1', managedFields: ["
	for name, tt := range map[string]struct{ live, manifest, want string }{
		"a field": {
			"", `{apiVersion: v1, kind: Namespace, metadata: {name: a}, spec: }`, `{apiVersion: v1, kind: Namespace, metadata: {name: a}}`,
		},
		"the key of an item": {
			"", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 1, protocol: }, {port: 2, protocol: ""}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 1}, {port: 2}]}}`,
		},
		"the key of an item, if its default is empty": {
			"", `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {imagePullSecrets: [{name: ""}]}}`,
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {imagePullSecrets: [{}]}}`,
		},
		"a text in a map": {
			"", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {k: }}, data: {a: , b: c}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {k: ""}}, data: {a: "", b: c}}`,
		},
		"a field that another manager owns": {
			service + fieldstest.Entry("them", "Update", "{f:spec: {f:sessionAffinity: {}}}") + "]}, spec: {sessionAffinity: ClientIP}}",
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {sessionAffinity: , type: }}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {sessionAffinity: }}`,
		},
		"a field that another manager has set to null, too": {
			service + fieldstest.Entry("them", "Apply", "{f:spec: {f:sessionAffinityConfig: {}}}") + "]}, spec: {sessionAffinity: None}}",
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {sessionAffinityConfig: , type: }}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {}}`,
		},
		"the same in an item of a list": {
			"{apiVersion: v1, kind: Pod, metadata: {name: a, resourceVersion: '1', managedFields: [" +
				fieldstest.Entry("them", "Apply", `{f:spec: {f:volumes: {'k:{"name":"a"}': {.: {}, f:name: {}, f:configMap: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}, f:configMap: {}}}}}`) +
				"]}, spec: {volumes: [{name: b, configMap: {name: c}}, {name: a, emptyDir: {}}]}}",
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {volumes: [{name: a, configMap: }, {name: b, configMap: }]}}`,
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {volumes: [{name: a}, {name: b, configMap: }]}}`,
		},
		"a field of a custom resource": {
			"", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, labels: {k: }, annotations: }, spec: {a: , b: [{c: }]}}`,
			`{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, labels: {k: ""}}, spec: {a: , b: [{c: }]}}`,
		},
		"an empty text that is no key": {
			"", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: "", ports: [{port: 1, name: ""}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: "", ports: [{port: 1, name: ""}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := fieldstest.Read(t, tt.manifest)
			before := u.DeepCopy()
			var live *unstructured.Unstructured
			if tt.live != "" {
				live = fieldstest.Read(t, tt.live)
			}
			p := predict.Predictor{Manager: fieldstest.Us, Known: new(local.Types).Of}
			got, err := p.Evaluate(plan.Item{Ref: object.RefOf(u), Kind: object.Kind{GVK: u.GroupVersionKind()}, Object: u}, live)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fieldstest.Read(t, tt.want).Object, got.Body.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, u.Object); diff != "" {
				t.Errorf("the manifest was changed (-want +got):\n%s", diff)
			}
		})
	}
}
