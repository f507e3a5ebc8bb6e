package adopt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Edge case 30: fields of the adopted manager that the manifest lacks are removed, and the
// manifest's fields are set. Fields of others stay.
func TestMoved(t *testing.T) {
	live := fieldstest.Read(t, `
apiVersion: v1
kind: Service
metadata:
  name: web
  resourceVersion: "7"
  managedFields:
  - {manager: kubectl-client-side-apply, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}}, "f:selector": {}, "f:type": {}}}}
  - {manager: alice, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:ports": {'k:{"port":90,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}}}}}
spec:
  clusterIP: 10.0.0.1
  ports: [{name: http, port: 80, protocol: TCP}, {name: metrics, port: 90, protocol: TCP}]
  selector: {app: a, other: x}
  type: ClusterIP
`)
	declared := fieldstest.Read(t, `
apiVersion: v1
kind: Service
metadata:
  name: web-probe
  managedFields:
  - {manager: k8sconnect, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:ports": {'k:{"port":81,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}, 'k:{"port":90,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:targetPort": {}}}, "f:selector": {}}}}
spec:
  clusterIP: 10.0.0.2
  ports: [{name: http, port: 81, protocol: TCP, nodePort: 1}, {port: 90, protocol: TCP, targetPort: 9}]
  selector: {app: a}
`)
	before := live.DeepCopy()
	adoption, err := adopt.Plan(live, "k8sconnect", adopt.From{Once: []string{managedfields.ClientSideApply}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := adopt.Moved(live, declared, "k8sconnect", adoption)
	if err != nil {
		t.Fatal(err)
	}
	want := fieldstest.Read(t, `
spec:
  clusterIP: 10.0.0.1
  ports: [{name: metrics, port: 90, protocol: TCP, targetPort: 9}, {name: http, port: 81, protocol: TCP}]
  selector: {app: a}
`)
	if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	if got.GetName() != "web" || got.GetResourceVersion() != "7" {
		t.Errorf("got name %s and resource version %s, want web and 7", got.GetName(), got.GetResourceVersion())
	}
	if diff := cmp.Diff(before, live); diff != "" {
		t.Errorf("the live object is changed: %s", diff)
	}
}

// Edge case 30: a map that only the adopted manager owned is removed, so that the server resets its
// defaults. A map that others also own stays.
func TestMovedEmptied(t *testing.T) {
	live := fieldstest.Read(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: kites.example.com
  managedFields:
  - {manager: kubectl-client-side-apply, operation: Update, apiVersion: apiextensions.k8s.io/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:conversion": {".": {}, "f:strategy": {}}, "f:kept": {".": {}, "f:a": {}}, "f:scope": {}}}}
  - {manager: alice, operation: Update, apiVersion: apiextensions.k8s.io/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:kept": {".": {}}}}}
spec: {conversion: {strategy: None}, kept: {a: b}, scope: Cluster}
`)
	declared := fieldstest.Read(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: kites.example.com-probe
  managedFields:
  - {manager: k8sconnect, operation: Apply, apiVersion: apiextensions.k8s.io/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:scope": {}}}}
spec: {conversion: {strategy: None}, scope: Cluster}
`)
	adoption, err := adopt.Plan(live, "k8sconnect", adopt.From{Once: []string{managedfields.ClientSideApply}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := adopt.Moved(live, declared, "k8sconnect", adoption)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"kept": map[string]any{}, "scope": "Cluster"}
	if diff := cmp.Diff(want, got.Object["spec"]); diff != "" {
		t.Error(diff)
	}
}
