package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Everything that is not ready in many namespaces is found with one list of each kind, and is
// explained by one cause. A Pod is represented by its Deployment.
func TestUnreadyInManyNamespaces(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	namespaces := circle.Of(20, 300, 300)
	base := e2etest.Namespace(t, c)
	var set strings.Builder
	for n := range namespaces {
		fmt.Fprintf(&set, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s-%d}\n---\n", base, n)
		for _, name := range []string{"web", "api", "zero"} {
			replicas := 2
			if name == "zero" {
				replicas = 0
			}
			fmt.Fprintf(&set, `apiVersion: apps/v1
kind: Deployment
metadata: {name: %[3]s, namespace: %[1]s-%[2]d}
spec:
  replicas: %[4]d
  selector: {matchLabels: {app: %[3]s}}
  template:
    metadata: {labels: {app: %[3]s}}
    spec: {nodeSelector: {disktype-%[1]s: ssd}, containers: [{name: a, image: registry.example/a:1}]}
---
apiVersion: v1
kind: Service
metadata: {name: %[3]s, namespace: %[1]s-%[2]d}
spec: {selector: {app: %[3]s}, ports: [{port: 80}]}
---
`, base, n, name, replicas)
		}
		fmt.Fprintf(&set, "apiVersion: v1\nkind: Service\nmetadata: {name: wrong, namespace: %s-%d}\nspec: {selector: {app: wrong}, ports: [{port: 80}]}\n---\n", base, n)
	}
	t.Cleanup(func() {
		for n := range namespaces {
			c.DeleteNamespace(fmt.Sprint(base, "-", n))
		}
	})
	e2etest.Plugin(t, kubeconfig, "apply", "-f", e2etest.File(t, set.String())).Ends(t, 0)

	type named struct{ Kind, Namespace, Name string }
	var found struct {
		Roots []struct {
			Code, Next string
			Holds      []named
		}
		Objects, Remarks []named
	}
	ours := func(all []named) (out []named) {
		for _, one := range all {
			if strings.HasPrefix(one.Namespace, base+"-") {
				out = append(out, one)
			}
		}
		return out
	}
	var from int
	var holds []named
	if !cluster.Until(10*time.Minute, func() bool {
		from = len(p.Requests())
		found.Roots, found.Objects, found.Remarks = nil, nil, nil
		answer := e2etest.Plugin(t, kubeconfig, "unready", "-A", "-o", "json").Ends(t, 1)
		if err := json.Unmarshal([]byte(answer.Stdout.String()), &found); err != nil {
			t.Fatal(err)
		}
		for _, root := range found.Roots {
			if root.Code == "Unschedulable" && strings.HasSuffix(root.Next, "disktype-"+base) {
				holds = root.Holds
			}
		}
		return len(ours(holds)) == 2*namespaces
	}) {
		t.Fatalf("one cause holds back %d of %d Deployments: %v", len(ours(holds)), 2*namespaces, found.Roots)
	}
	for _, one := range ours(found.Objects) {
		if one.Kind != "Deployment" || one.Name == "zero" {
			t.Errorf("%v is reported", one)
		}
	}
	remarks := ours(found.Remarks)
	for _, one := range remarks {
		if one.Name != "wrong" {
			t.Errorf("a remark on %v", one)
		}
	}
	if len(remarks) != namespaces {
		t.Errorf("%d remarks, want %d", len(remarks), namespaces)
	}
	lists := map[string]int{}
	for _, r := range p.Requests()[from:] {
		u, err := url.Parse(r.URI)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(u.Path, base) {
			t.Errorf("a request for one namespace: %s %s", r.Method, r.URI)
		}
		if u.Query().Get("continue") == "" && u.Query().Get("limit") != "" {
			lists[u.Path]++
		}
	}
	for _, path := range []string{"/api/v1/pods", "/api/v1/services", "/api/v1/events", "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets"} {
		if lists[path] != 1 {
			t.Errorf("%d lists of %s, want 1", lists[path], path)
		}
	}
	t.Logf("%d requests", len(p.Requests())-from)
}
