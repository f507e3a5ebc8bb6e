package deletion

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// operator is a typical set with an operator, its CRD, and a custom resource.
const operator = `
- {apiVersion: v1, kind: Namespace, metadata: {name: ops}}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: widgets.example.com}
  spec:
    group: example.com
    scope: Namespaced
    names: {kind: Widget, plural: widgets}
    versions: [{name: v1, served: true, storage: true}]
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: operator, namespace: ops}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: part}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: whole}, aggregationRule: {clusterRoleSelectors: []}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: operator, namespace: ops}}
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: one, namespace: ops}}
`

func operatorPlan(t *testing.T) *plan.Plan {
	t.Helper()
	var all []map[string]any
	if err := yaml.Unmarshal([]byte(operator), &all); err != nil {
		t.Fatal(err)
	}
	kinds := map[schema.GroupVersionKind]object.Kind{}
	var manifests []object.Manifest
	for _, one := range all {
		u := &unstructured.Unstructured{Object: one}
		manifests = append(manifests, object.Manifest{Object: u})
		gvk := u.GroupVersionKind()
		kinds[gvk] = object.Kind{GVK: gvk, Resource: "things", Namespaced: u.GetNamespace() != ""}
	}
	p, err := plan.Build(manifests, plan.Options{Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
