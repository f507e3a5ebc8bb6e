package e2e_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A set with a few objects in each of many namespaces is read and watched by kind, not object by
// object, by each verb. The full size is that of a platform team's cluster: 5,400 objects of 11 kinds.
func TestManyNamespacesAreReadByKind(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	namespaces, kinds := circle.Of(34, 300, 300), circle.Of(3, 10, 10)
	base := e2etest.Namespace(t, c)
	set, objects := manyNamespaces(base, namespaces, kinds)
	t.Cleanup(func() {
		var all sync.WaitGroup
		for n := range namespaces {
			all.Go(func() { c.DeleteNamespace(fmt.Sprint(base, "-", n)) })
		}
		all.Wait()
	})
	path := e2etest.File(t, set)
	e2etest.Plugin(t, kubeconfig, "apply", "-f", path).Ends(t, 0).Says(t, fmt.Sprint(objects, " created"))
	plan := e2etest.File(t, e2etest.Plugin(t, kubeconfig, "diff", "-o", "json", "-f", path).Ends(t, 0).Stdout.String())
	for _, tt := range []struct {
		args []string
		says string
		// Reads by object that the verb may send: wait looks at endpoints of Services, for example.
		single int
	}{
		{[]string{"apply"}, fmt.Sprint(objects, " unchanged"), 0},
		{[]string{"diff"}, fmt.Sprint(objects, " unchanged"), 0},
		{[]string{"wait", "--timeout=100s"}, fmt.Sprint(objects, " met"), circle.Of(16, 48, 48)},
		{[]string{"owners"}, "k8sconnect", 0},
		{[]string{"give", ".metadata.labels.team", "--to=other", "--from=k8sconnect", "--dry-run=client"}, "", 0},
		{[]string{"apply", "--confirm=" + plan}, fmt.Sprint(objects, " unchanged"), 0},
		{[]string{"delete", "--dry-run=client"}, fmt.Sprint(objects, " deleted"), 0},
		{[]string{"delete", "--timeout=300s"}, fmt.Sprint(objects, " deleted"), 0},
	} {
		from := len(p.Requests())
		r := e2etest.Plugin(t, kubeconfig, append(tt.args, "-f", path)...)
		r.Wait(t)
		r.Says(t, tt.says)
		var single []string
		reads := 0
		for _, q := range p.Requests()[from:] {
			if q.Method != http.MethodGet {
				continue
			}
			reads++
			if strings.Contains(q.URI, base) {
				single = append(single, q.URI)
			}
		}
		// A kind takes a count, a list and a watch; the others are for the kinds, and for schemas.
		if most := circle.Of(20, 60, 60) + tt.single; reads > most || len(single) > tt.single {
			t.Errorf("%v: %d reads, want at most %d; by object: %v", tt.args, reads, most, single[:min(20, len(single))])
		}
		t.Logf("%v of %d objects: %d reads", tt.args, objects, reads)
	}
}

// A set in many namespaces is pruned and rolled back by kind, too.
func TestSetsInManyNamespacesAreReadByKind(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	const namespaces, kinds = 34, 3
	base := e2etest.Namespace(t, c)
	if out, err := exec.CommandContext(t.Context(), c.Binary("kubectl"), "--kubeconfig="+kubeconfig, "config", "set-context", "--current", "--namespace="+base).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole, objects := manyNamespaces(base, namespaces, kinds)
	fewer, fewerObjects := manyNamespaces(base, namespaces, kinds-1)
	t.Cleanup(func() {
		var all sync.WaitGroup
		for n := range namespaces {
			all.Go(func() { c.DeleteNamespace(fmt.Sprint(base, "-", n)) })
		}
		all.Wait()
	})
	set := []string{"--apply-set=many", "--prune", "-f"}
	e2etest.Plugin(t, kubeconfig, append([]string{"apply"}, append(set, e2etest.File(t, whole))...)...).Ends(t, 0)
	for _, tt := range []struct {
		args []string
		says string
	}{
		{append([]string{"apply"}, append(set, e2etest.File(t, fewer))...), fmt.Sprint(objects-fewerObjects, " pruned")},
		{[]string{"sets", "rollback", "many", "--yes"}, fmt.Sprint(objects-fewerObjects, " created")},
		{[]string{"sets", "many"}, fmt.Sprint(objects)},
	} {
		from := len(p.Requests())
		e2etest.Plugin(t, kubeconfig, tt.args...).Ends(t, 0).Says(t, tt.says)
		var reads []string
		for _, q := range p.Requests()[from:] {
			if q.Method == http.MethodGet {
				reads = append(reads, q.URI)
			}
		}
		if len(reads) > 40 {
			t.Errorf("%v: %d reads, such as %v", tt.args, len(reads), reads)
		}
		t.Logf("%v of %d objects: %d reads", tt.args, objects, len(reads))
	}
}

// manyNamespaces returns manifests of namespaces with objects of some kinds, and their number.
func manyNamespaces(base string, namespaces, kinds int) (manifests string, objects int) {
	of := []struct {
		count            int
		api, kind, extra string
	}{
		{3, "v1", "ConfigMap", "data: {a: '1'}"},
		{3, "v1", "Service", "spec: {selector: {app: a}, ports: [{port: 80}]}"},
		{3, "v1", "ServiceAccount", ""},
		{1, "v1", "Secret", "stringData: {a: b}"},
		{1, "v1", "LimitRange", "spec: {limits: [{type: Container, default: {cpu: 500m}, defaultRequest: {cpu: 100m}}]}"},
		{1, "v1", "ResourceQuota", "spec: {hard: {pods: '50', requests.cpu: '20'}}"},
		{1, "rbac.authorization.k8s.io/v1", "Role", "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"},
		{1, "networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {}, policyTypes: [Ingress]}"},
		{1, "coordination.k8s.io/v1", "Lease", "spec: {}"},
		{2, "apps/v1", "Deployment", "spec: {replicas: 0, selector: {matchLabels: {app: a}}, " +
			"template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: registry.example/a:1, ports: [{containerPort: 80}]}]}}}"},
	}
	var b strings.Builder
	for n := range namespaces {
		name := fmt.Sprint(base, "-", n)
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n---\n", name)
		objects++
		for _, k := range of[:kinds] {
			for i := range k.count {
				fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata: {name: a%d, namespace: %s}\n%s\n---\n", k.api, k.kind, i, name, k.extra)
				objects++
			}
		}
	}
	return b.String(), objects
}
