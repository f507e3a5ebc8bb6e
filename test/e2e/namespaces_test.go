package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// An unchanged set with a few objects in each of many namespaces is read by kind, not object by
// object. The full size is that of a platform team's cluster: 5,400 objects of 11 kinds.
func TestManyNamespacesAreReadByKind(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	namespaces, kinds := circle.Of(34, 300, 300), circle.Of(3, 10, 10)
	base := namespace(t, c)
	set, objects := manyNamespaces(base, namespaces, kinds)
	t.Cleanup(func() {
		var all sync.WaitGroup
		for n := range namespaces {
			all.Go(func() { c.DeleteNamespace(fmt.Sprint(base, "-", n)) })
		}
		all.Wait()
	})
	path := file(t, set)
	k8sconnect(t, kubeconfig, "apply", "-f", path).ends(t, 0).says(t, fmt.Sprint(objects, " created"))
	for verb, says := range map[string]string{"apply": fmt.Sprint(objects, " unchanged"), "diff": fmt.Sprint(objects, " unchanged")} {
		from := len(p.Requests())
		k8sconnect(t, kubeconfig, verb, "-f", path).ends(t, 0).says(t, says)
		var single []string
		requests := p.Requests()[from:]
		for _, r := range requests {
			if strings.Contains(r.URI, base) {
				single = append(single, r.Method+" "+r.URI)
			}
		}
		// A kind takes a first page and the rest; the others are for the kinds, and for schemas.
		if most := circle.Of(20, 60, 60); len(requests) > most || len(single) > 0 {
			t.Errorf("%s: %d requests, want at most %d; in a namespace: %v", verb, len(requests), most, single[:min(5, len(single))])
		}
		t.Logf("%s of %d objects: %d requests", verb, objects, len(requests))
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
