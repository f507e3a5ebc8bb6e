package inventory

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	ownServer = "https://kubernetes.default.svc"
	ownName   = "in-cluster"
)

// application reads the status of an Application, whose entries are of type ResourceStatus in
// argoproj/argo-cd, pkg/apis/application/v1alpha1/types.go. It skips hooks, and entries with
// requiresPruning.
func application(u map[string]any) (Contents, error) {
	server, _, _ := unstructured.NestedString(u, "spec", "destination", "server")
	name, _, _ := unstructured.NestedString(u, "spec", "destination", "name")
	if server != "" && server != ownServer {
		return Contents{}, elsewhere("spec.destination.server: " + server)
	}
	if name != "" && name != ownName {
		return Contents{}, elsewhere("spec.destination.name: " + name)
	}
	resources, _, err := unstructured.NestedSlice(u, "status", "resources")
	if err != nil {
		return Contents{}, err
	}
	var out Contents
	for i, resource := range resources {
		fields, _ := resource.(map[string]any)
		hook, _ := fields["hook"].(bool)
		leaves, _ := fields["requiresPruning"].(bool)
		if hook || leaves {
			continue
		}
		text := func(field string) string {
			s, _ := fields[field].(string)
			return s
		}
		ref := object.Ref{
			GVK:       schema.GroupVersionKind{Group: text("group"), Version: text("version"), Kind: text("kind")},
			Namespace: text("namespace"), Name: text("name"),
		}
		if ref.GVK.Kind == "" || ref.GVK.Version == "" || ref.Name == "" {
			return Contents{}, fmt.Errorf("entry %d of its status.resources has no kind, version or name", i+1)
		}
		out.Objects = append(out.Objects, ref)
	}
	if len(out.Objects) == 0 {
		return out, errNothing
	}
	return out, nil
}
