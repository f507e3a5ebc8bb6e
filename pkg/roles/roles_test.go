package roles

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Objects with the same verbs share a rule. A right to all objects of a resource is not repeated for
// one of them. There is one Role for each namespace, and one ClusterRole.
func TestRoles(t *testing.T) {
	var r Rights
	kind := object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps"}
	for _, name := range []string{"b", "a", "b"} {
		r.Add(kind, object.Ref{Namespace: "shop", Name: name}, "patch", "get")
	}
	r.Add(kind, object.Ref{Namespace: "shop", Name: "c"}, "get", "bind", "delete")
	r.AddResource("", "secrets", "shop", "", "list", "get")
	r.AddResource("", "secrets", "shop", "s", "get", "patch")
	r.AddResource("", "secrets", "shop", "t", "get")
	r.AddResource("", "namespaces", "", "kube-system", "get")
	want := "[{ [{ namespaces [kube-system] [get]}]} " +
		"{shop [{ configmaps [a b] [get patch]} { configmaps [c] [get delete bind]} { secrets [] [get list]} { secrets [s] [patch]}]}]"
	if got := fmt.Sprint(r.Roles()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := fmt.Sprint(Rights{}.Roles()); got != "[]" {
		t.Errorf("without rights: %s", got)
	}
	shop := fmt.Sprint(r.Roles()[1].Object("deploy"))
	if want := "map[apiVersion:rbac.authorization.k8s.io/v1 kind:Role metadata:map[name:deploy namespace:shop] " +
		"rules:[map[apiGroups:[] resourceNames:[a b] resources:[configmaps] verbs:[get patch]]"; shop[:len(want)] != want {
		t.Errorf("got  %s\nwant %s", shop, want)
	}
}
