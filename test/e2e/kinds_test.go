package e2e_test

import "testing"

// A definition that an operator of the set installs later: the run waits for the
// kind to be served (edge case 18).
func TestDefinitionComesLater(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	const set = `
apiVersion: later.example.com/v1
kind: Late
metadata: {name: one}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  replicas: 0
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {containers: [{name: app, image: "app:1"}]}
`
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lates.later.example.com}
spec:
  group: later.example.com
  scope: Namespaced
  names: {kind: Late, plural: lates}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	r := start(t, kubeconfig, "apply", "-n", ns, "-f", file(t, set), "--server-timeout=2m")
	until(t, "the operator is there, and it is asked for the kind again", func() bool {
		there := kubectl(t, c, "get", "deployment", "-n", ns, "-o", "name") != ""
		return there && p.Count("GET", "/apis/later.example.com/v1") > 3
	})
	kubectl(t, c, "apply", "-f", file(t, definition))
	r.wait(t)
	r.ends(t, 0).says(t, "waiting for Late to be served").says(t, "created     late.later.example.com/one")
}
