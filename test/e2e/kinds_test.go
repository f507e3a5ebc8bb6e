package e2e_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// A definition that an operator installs later: the run waits for the kind to be
// served (edge case 18) if the set shows that the operator may bring it, by a role
// for its group, or if the user says so.
func TestDefinitionComesLater(t *testing.T) {
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
    spec: {serviceAccountName: operator, containers: [{name: app, image: "app:1"}]}
`
	const role = `
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator}
rules: [{apiGroups: [later.example.com], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: operator}
subjects: [{kind: ServiceAccount, name: operator}]
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
	for name, tt := range map[string]struct {
		set  string
		args []string
		says string
	}{
		"the set's operator": {set + role, []string{"--server-timeout=2m"}, "waiting for Late to be served, which deployment.apps/operator -n "},
		"somebody":           {set, []string{"--await-kinds"}, "waiting for Late to be served"},
	} {
		t.Run(name, func(t *testing.T) {
			c := shared.Cluster(t)
			p, kubeconfig := proxied(t, c)
			ns := namespace(t, c)
			r := start(t, kubeconfig, append([]string{"apply", "-n", ns, "-f", file(t, tt.set)}, tt.args...)...)
			until(t, "the operator is there, and it is asked for the kind again", func() bool {
				there := kubectl(t, c, "get", "deployment", "-n", ns, "-o", "name") != ""
				return there && p.Count("GET", "/apis/later.example.com/v1") > 3
			})
			kubectl(t, c, "apply", "-f", file(t, definition))
			r.wait(t)
			r.ends(t, 0).says(t, tt.says).says(t, "created     late.later.example.com/one")
			kubectl(t, c, "delete", "customresourcedefinition", "lates.later.example.com")
		})
	}
}

// A definition that another run has just applied is not served yet (edge case 18): the
// run waits for it. An API server that is one of several takes five seconds.
func TestDefinitionOfAnotherRun(t *testing.T) {
	t.Parallel() // It has a cluster of its own.
	c := cluster.ForTest(t, cluster.Options{APIServerArgs: []string{"--apiserver-count=2"}})
	c.OwnOnly(t)
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gateways.soon.example.com}
spec:
  group: soon.example.com
  scope: Namespaced
  names: {kind: Gateway, plural: gateways}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	const set = "{apiVersion: soon.example.com/v1, kind: Gateway, metadata: {name: %s, namespace: default}}"
	k8sconnect(t, c.KubeconfigPath, "apply", "-f", file(t, definition)).ends(t, 0)
	var runs sync.WaitGroup
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"one", []string{"apply"}, 0, "created     gateway.soon.example.com/one"},
		{"two", []string{"apply", "--dry-run=server"}, 0, "gateway.soon.example.com/two"},
		{"three", []string{"diff"}, 1, "gateway.soon.example.com/three"},
	} {
		r := start(t, c.KubeconfigPath, append(tt.args, "-f", file(t, fmt.Sprintf(set, tt.name)))...)
		runs.Go(func() {
			r.wait(t)
			r.ends(t, tt.status).says(t, tt.says).
				says(t, "waiting for Gateway to be served, as customresourcedefinition/gateways.soon.example.com says it will be")
		})
	}
	runs.Wait()
}
