package fieldstest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Deployment returns a live Deployment and its applied manifest.
func Deployment(containers, variables int) (live, manifest *unstructured.Unstructured) {
	var stated, present []any
	held := map[string]any{}
	for c := range containers {
		name := fmt.Sprint("app-", c)
		var env []any
		variablesHeld := map[string]any{}
		for v := range variables {
			variable := fmt.Sprint("VARIABLE_", v)
			env = append(env, map[string]any{"name": variable, "value": "value"})
			variablesHeld[`k:{"name":"`+variable+`"}`] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}, "f:value": map[string]any{}}
		}
		stated = append(stated, map[string]any{
			"name": name, "image": "app:1", "env": env, "args": []any{"-v", "-x"},
			"ports": []any{map[string]any{"containerPort": int64(8080 + c)}},
		})
		present = append(present, map[string]any{
			"name": name, "image": "app:1", "env": env, "args": []any{"-v", "-x"}, "imagePullPolicy": "Always",
			"ports": []any{map[string]any{"containerPort": int64(8080 + c), "protocol": "TCP"}},
		})
		held[`k:{"name":"`+name+`"}`] = map[string]any{
			".": map[string]any{}, "f:name": map[string]any{}, "f:image": map[string]any{}, "f:args": map[string]any{}, "f:env": variablesHeld,
			"f:ports": map[string]any{fmt.Sprintf(`k:{"containerPort":%d,"protocol":"TCP"}`, 8080+c): map[string]any{".": map[string]any{}, "f:containerPort": map[string]any{}}},
		}
	}
	build := func(containers []any, metadata map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
			"spec": map[string]any{
				"replicas": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
				"template": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
					"spec":     map[string]any{"containers": containers},
				},
			},
		}}
	}
	fields := map[string]any{"f:spec": map[string]any{
		"f:replicas": map[string]any{}, "f:selector": map[string]any{},
		"f:template": map[string]any{
			"f:metadata": map[string]any{"f:labels": map[string]any{"f:app": map[string]any{}}},
			"f:spec":     map[string]any{"f:containers": held},
		},
	}}
	status := map[string]any{"f:status": map[string]any{"f:replicas": map[string]any{}, "f:conditions": map[string]any{
		".": map[string]any{}, `k:{"type":"Available"}`: map[string]any{".": map[string]any{}, "f:type": map[string]any{}, "f:status": map[string]any{}},
	}}}
	live = build(present, map[string]any{"name": "web", "namespace": "prod", "managedFields": []any{
		map[string]any{"manager": Us, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "time": "2026-11-21T02:34:57Z"},
		map[string]any{"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": status, "time": "2026-11-21T02:34:57Z"},
	}})
	return live, build(stated, map[string]any{"name": "web", "namespace": "prod"})
}
