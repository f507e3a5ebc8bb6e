package stories_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// team returns the manifests of a namespace: 17 objects of ten kinds. Its web waits for nodes with fast
// disks if slow is set.
func team(namespace string, slow bool) string {
	nodes := ""
	if slow {
		nodes = "nodeSelector: {disktype: ssd}, "
	}
	var b strings.Builder
	object := func(api, kind, name, rest string) {
		fmt.Fprintf(&b, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s}\n%s\n", api, kind, name, namespace, rest)
	}
	fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	for i, name := range []string{"web", "api", "worker"} {
		object("v1", "ConfigMap", name, "data: {mode: fast}")
		object("v1", "ServiceAccount", name, "")
		if i < 2 {
			object("v1", "Service", name, "spec: {selector: {app: "+name+"}, ports: [{port: 80}]}")
			object("apps/v1", "Deployment", name, "spec: {replicas: 1, selector: {matchLabels: {app: "+name+"}}, template: {metadata: {labels: {app: "+name+
				"}}, spec: {"+nodes+"containers: [{name: app, image: registry.example/"+name+":1, ports: [{containerPort: 80}]}]}}}")
			nodes = ""
		}
	}
	object("v1", "Secret", "token", "stringData: {token: secret}")
	object("v1", "ResourceQuota", "most", "spec: {hard: {pods: '50'}}")
	object("rbac.authorization.k8s.io/v1", "Role", "reader", "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]")
	object("rbac.authorization.k8s.io/v1", "RoleBinding", "reader", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\nsubjects: [{kind: ServiceAccount, name: web, namespace: "+namespace+"}]")
	object("networking.k8s.io/v1", "NetworkPolicy", "closed", "spec: {podSelector: {}, policyTypes: [Ingress]}")
	object("policy/v1", "PodDisruptionBudget", "web", "spec: {minAvailable: 0, selector: {matchLabels: {app: web}}}")
	return b.String()
}

// Story 9, the platform team: a night of a cluster with many namespaces. In the full circle it has the
// team's size: 5,400 objects in 300 namespaces.
func TestPlatformTeam(t *testing.T) {
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
	namespaces := circle.Of(34, 300, 300)
	const slow = 12 // namespaces in which web waits for nodes
	var set strings.Builder
	var names []string
	for n := range namespaces {
		names = append(names, fmt.Sprintf("namespace/team-%d", n))
		set.WriteString(team(fmt.Sprintf("team-%d", n), n < slow))
	}
	objects := strings.Count(set.String(), "\nkind: ")
	t.Cleanup(func() { // stories share a cluster: clean up
		_ = exec.Command(c.Binary("kubectl"), append([]string{"--kubeconfig", c.KubeconfigPath, "delete", "--ignore-not-found", "--wait=false"}, names...)...).Run()
	})
	good := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(good, []byte(set.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	// Fewer than 97 objects of a kind are read side by side, in one round trip.
	most := circle.Of(objects, 60, 60)
	reads := func(from int) (n int) {
		for _, r := range requests.Requests()[from:] {
			if r.Method == http.MethodGet {
				n++
			}
		}
		return n
	}

	// The first apply of a new cluster is a screen, with the refused object at its end.
	bad := "---\n{apiVersion: v1, kind: Service, metadata: {name: wrong, namespace: team-0}, spec: {ports: [{port: 99999}]}}\n"
	first := call(t, 1, kubeconfig, set.String()+bad, "apply", "-f", "-")
	out := first.stdout.String()
	says(t, out, fmt.Sprintf("%d namespaces", namespaces), "service/wrong -n team-0", "spec.ports[0].port", fmt.Sprintf("%d created, 1 failed", objects))
	if lines := strings.Count(out+first.stderr.String(), "\n"); lines > 60 {
		t.Errorf("the first apply of %d objects is %d lines:\n%s%s", objects, lines, out, &first.stderr)
	}

	// By night, the comparison with Git reads by kind, and is silent.
	from := len(requests.Requests())
	quiet := call(t, 0, kubeconfig, "", "diff", "-f", good)
	says(t, quiet.stderr.String(), fmt.Sprintf("%d unchanged", objects))
	if n := reads(from); n > most {
		t.Errorf("a diff of %d unchanged objects sends %d reads", objects, n)
	}
	t.Logf("%d objects in %d namespaces: first apply %d lines, diff %d reads", objects, namespaces, strings.Count(out, "\n"), reads(from))

	// Two people help themselves by hand. In the morning, each is named: what was changed, and what was
	// added.
	kubectl(t, c, "", "patch", "configmap/web", "-n", "team-3", "--field-manager=kubectl-edit", "-p", `{"data": {"mode": "slow"}}`)
	kubectl(t, c, "", "set", "env", "deployment/api", "-n", "team-7", "DEBUG=1")
	from = len(requests.Requests())
	night := call(t, 1, kubeconfig, "", "diff", "-f", good)
	says(t, night.stdout.String(), "configmap/web -n team-3", "kubectl-edit")
	says(t, night.stderr.String(), fmt.Sprintf("%d unchanged", objects-1))
	says(t, night.stderr.String(), "kubectl-set", "--exclusive")
	added := call(t, 1, kubeconfig, "", "diff", "-f", good, "--exclusive")
	says(t, added.stdout.String(), `DEBUG`, "kubectl-set")
	if n := reads(from); n > 2*most {
		t.Errorf("two comparisons of %d objects send %d reads", objects, n)
	}

	// In the morning, one screen shows what is not ready: one root, not twelve objects.
	var unready string
	until(t, "the Pods have been scheduled, or not", func() bool {
		r := start(t, kubeconfig, "", "unready", "-A")
		_ = r.cmd.Wait()
		unready = r.stdout.String()
		return strings.Contains(unready, fmt.Sprintf("%d Deployments", slow)) && strings.Contains(unready, "disktype")
	}, func() string { return unready })
	says(t, unready, fmt.Sprintf("%d Deployments", slow), "disktype")
	if n := strings.Count(unready, "disktype"); n > 3 {
		t.Errorf("one root is printed %d times:\n%s", n, unready)
	}

	// The nodes get their label, and the manual changes are removed or taken over: then nothing differs.
	kubectl(t, c, "", "label", "nodes", "--all", "disktype=ssd")
	t.Cleanup(func() {
		_ = exec.Command(c.Binary("kubectl"), "--kubeconfig", c.KubeconfigPath, "label", "nodes", "--all", "disktype-").Run()
	})
	call(t, 0, kubeconfig, "", "apply", "-f", good, "--exclusive", "--take=configmap/web:.data.mode", "--wait", "--timeout=20m")
	last := call(t, 0, kubeconfig, "", "diff", "-f", good, "--exclusive")
	says(t, last.stderr.String(), fmt.Sprintf("%d unchanged", objects))
}
