package fieldstest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Deployment returns a live Deployment and its applied manifest.
func Deployment(containers, variables int) (live, manifest *unstructured.Unstructured) {
	var declared, present, held strings.Builder
	for c := range containers {
		var env, variablesHeld strings.Builder
		for v := range variables {
			fmt.Fprintf(&env, `{name: VARIABLE_%d, value: value}, `, v)
			fmt.Fprintf(&variablesHeld, `'k:{"name":"VARIABLE_%d"}': {".": {}, "f:name": {}, "f:value": {}}, `, v)
		}
		same := fmt.Sprintf(`name: app-%d, image: "app:1", env: [%s], args: ["-v", "-x"]`, c, &env)
		fmt.Fprintf(&declared, `{%s, ports: [{containerPort: %d}]}, `, same, 8080+c)
		fmt.Fprintf(&present, `{%s, ports: [{containerPort: %d, protocol: TCP}], imagePullPolicy: Always}, `, same, 8080+c)
		fmt.Fprintf(&held, `'k:{"name":"app-%d"}': {".": {}, "f:name": {}, "f:image": {}, "f:args": {}, "f:env": {%s},
  "f:ports": {'k:{"containerPort":%d,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}}, `, c, &variablesHeld, 8080+c)
	}
	build := func(containers, metadata string) *unstructured.Unstructured {
		u, err := parse(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod` + metadata + `},
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [` + containers + `]}}}}`)
		if err != nil {
			panic(err)
		}
		return u
	}
	live = build(present.String(), `, managedFields: [
  {manager: `+Us+`, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, time: "2026-11-21T02:34:57Z", fieldsV1: {"f:spec": {
    "f:replicas": {}, "f:selector": {}, "f:template": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": {`+held.String()+`}}}}}},
  {manager: kube-controller-manager, operation: Update, subresource: status, apiVersion: apps/v1, fieldsType: FieldsV1, time: "2026-11-21T02:34:57Z",
    fieldsV1: {"f:status": {"f:replicas": {}, "f:conditions": {".": {}, 'k:{"type":"Available"}': {".": {}, "f:type": {}, "f:status": {}}}}}}]`)
	return live, build(declared.String(), "")
}
