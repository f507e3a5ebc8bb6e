package e2e_test

import "testing"

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
