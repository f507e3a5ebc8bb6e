package stories_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// platform contains the team's manifests: an operator, objects of a kind that it installs later,
// and their shop's settings and ingress.
const platform = `
{apiVersion: v1, kind: Namespace, metadata: {name: platform}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: operator, namespace: platform}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: platform-operator}
rules: [{apiGroups: [platform.example.com], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: platform-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: platform-operator}
subjects: [{kind: ServiceAccount, name: operator, namespace: platform}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: platform}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {serviceAccountName: operator, containers: [{name: manager, image: "registry.example/operator:1"}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: platform}, data: {mode: fast}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: platform}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
`

// database is the kind that the operator installs. Its first version is deprecated.
const database = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.platform.example.com}
spec:
  group: platform.example.com
  scope: Namespaced
  names: {kind: Database, plural: databases, singular: database}
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: true
    deprecationWarning: platform.example.com/v1 Database is deprecated
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func databases(namespace string, n int, finalizers string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "---\n{apiVersion: platform.example.com/v1, kind: Database, metadata: {name: db-%d, namespace: %s, finalizers: [%s]}}\n", i, namespace, finalizers)
	}
	return text.String()
}

// kubectl acts for others: another team, a cloud, the operator.
func kubectl(t *testing.T, c *cluster.Cluster, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Binary("kubectl"), append(args, "--kubeconfig", c.KubeconfigPath)...)
	var out, warnings bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &warnings
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, &warnings)
	}
	return out.String()
}

// Story 1, the provider: a team that manages a cluster with code.
func TestProvider(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	requests, err := c.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(requests.Close)
	kubeconfig, err := c.Kubeconfig(requests.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // stories share a cluster: clean up
		_ = exec.Command(c.Binary("kubectl"), "--kubeconfig", c.KubeconfigPath, "delete", "--ignore-not-found", "--wait=false",
			"namespace/platform", "namespace/tenants", "namespace/crowded", "customresourcedefinition/databases.platform.example.com",
			"clusterrole/platform-operator", "clusterrolebinding/platform-operator").Run()
	})

	// One run applies the operator, and objects whose kind it installs once it runs. All of them
	// are deprecated, and one warning names five and counts the others.
	const many = 7
	all := platform + databases("platform", many, "")
	r := start(t, kubeconfig, all, "apply", "-f", "-", "--server-timeout=10m")
	r.hears(t, "waiting for Database to be served; deployment.apps/operator -n platform")
	until(t, "the operator runs", func() bool {
		return kubectl(t, c, "", "get", "deployment/operator", "-n", "platform", "-o", "jsonpath={.status.readyReplicas}") == "1"
	}, r.stderr.String)
	kubectl(t, c, database, "apply", "-f", "-")
	r.ends(t, 0)
	says(t, r.stdout.String(), fmt.Sprintf("%d created", 7+many))
	_, deprecated, _ := strings.Cut(r.stderr.String(), fmt.Sprintf("warning: %d objects: platform.example.com/v1 Database is deprecated: ", many))
	deprecated, _, _ = strings.Cut(deprecated, "\n")
	for i := range 5 {
		says(t, deprecated, fmt.Sprintf("database.platform.example.com/db-%d -n platform", i))
	}
	says(t, deprecated, fmt.Sprintf(" and %d more", many-5))

	// The call that waits for the load balancer prints its address.
	r = start(t, kubeconfig, "", "wait", "svc/web", "-n", "platform", "--timeout=30m",
		"--for=has(self.status.loadBalancer.ingress)", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
	kubectl(t, c, "", "patch", "service/web", "-n", "platform", "--subresource=status", "-p", `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.7"}]}}}`)
	if got := r.ends(t, 0).stdout.String(); got != "192.0.2.7\n" {
		t.Errorf("the address is %q, want 192.0.2.7", got)
	}

	// Other managers' fields are no difference, and the tool shows their owners.
	kubectl(t, c, "", "annotate", "configmap/settings", "-n", "platform", "--field-manager=audit-team", "audit=2026")
	if got := call(t, 0, kubeconfig, all, "diff", "-f", "-").stdout.String(); strings.Contains(got, "audit") {
		t.Errorf("the diff shows fields of other managers: %s", got)
	}
	says(t, call(t, 0, kubeconfig, "", "owners", "configmap/settings", "-n", "platform").stdout.String(), "audit-team", "k8sconnect")

	// Existence and readiness have separate limits. The wait for an object that exceeds its own
	// ends with the cause.
	r = call(t, 1, kubeconfig, "", "wait", "databases/db-0", "databases/planned", "-n", "platform", "--for=condition=Ready",
		"--timeout=30m", "--timeout-for=create=1s", "--timeout-for=condition=Ready=2s")
	says(t, r.stdout.String(), "database.platform.example.com/db-0 -n platform: not met within 2s", "not condition=Ready",
		"database.platform.example.com/planned -n platform: does not exist; did not exist within 1s")

	// An API error is reported when it happens, not at the timeout.
	requests.Fail(-1, proxy.Path("GET", "/api/v1/namespaces/platform/configmaps"), proxy.Fault{Status: http.StatusInternalServerError, Message: "etcd leader lost"})
	r = start(t, kubeconfig, "", "wait", "configmap/settings", "-n", "platform", "--for=jsonpath={.data.mode}=fast", "--timeout=30m", "--server-timeout=20m")
	r.hears(t, "etcd leader lost")
	requests.Heal()
	r.ends(t, 0)

	// A namespace with many objects is slow, and not reported as stuck.
	var crowd strings.Builder
	crowd.WriteString("{apiVersion: v1, kind: Namespace, metadata: {name: crowded}}\n")
	for i := range 400 {
		fmt.Fprintf(&crowd, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d, namespace: crowded}}\n", i)
	}
	says(t, call(t, 0, kubeconfig, crowd.String(), "apply", "-f", "-").stdout.String(), "401 created")
	if message := call(t, 0, kubeconfig, "", "delete", "namespace/crowded", "--timeout=30m").stderr.String(); strings.Contains(message, "still there") {
		t.Errorf("a terminating namespace is reported as stuck: %s", message)
	}

	// A namespace with a finalizer whose operator is scaled to zero is stuck, and the report says
	// why.
	const finalizer = "platform.example.com/clean-up"
	call(t, 0, kubeconfig, "{apiVersion: v1, kind: Namespace, metadata: {name: tenants}}\n"+databases("tenants", 1, finalizer), "apply", "-f", "-")
	kubectl(t, c, "", "scale", "deployment/operator", "-n", "platform", "--replicas=0")
	r = start(t, kubeconfig, "", "delete", "namespace/tenants", "--timeout=30m", "--stuck-after=2s")
	r.hears(t, "FinalizerControllerScaledDown")
	r.hears(t, "kubectl scale deployment.apps/operator -n platform --replicas=1")

	// The finalizer is removed only on request: not by the teardown that waits for it, and only if
	// it is named.
	until(t, "the namespace controller has come to it", func() bool {
		return kubectl(t, c, "", "get", "databases/db-0", "-n", "tenants", "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	}, r.stderr.String)
	call(t, 2, kubeconfig, "", "delete", "databases/db-0", "-n", "tenants", "--remove-finalizer="+finalizer)
	if got := kubectl(t, c, "", "get", "databases/db-0", "-n", "tenants", "-o", "jsonpath={.metadata.finalizers}"); !strings.Contains(got, finalizer) {
		t.Fatalf("the removal was not confirmed, but the finalizers are %s", got)
	}
	call(t, 0, kubeconfig, "", "delete", "databases/db-0", "-n", "tenants", "--remove-finalizer="+finalizer, "--yes")
	r.ends(t, 0)
	says(t, r.stdout.String(), "namespace/tenants")

	// If the cluster is already gone, the teardown ends soon, and without success.
	gone, err := proxy.NewTCP(requests.URL())
	if err != nil {
		t.Fatal(err)
	}
	nowhere, err := c.Kubeconfig(gone.URL())
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	says(t, call(t, 2, nowhere, all, "delete", "-f", "-", "--server-timeout=2s").stderr.String(),
		"the API server cannot be reached", "if the cluster no longer exists", "nothing is left to delete")
}
