package sets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// spread returns ConfigMaps and Services, the same number in each namespace, without the third of
// them that is pruned.
func spread(namespaces []string, each int, all bool) string {
	var b strings.Builder
	for _, ns := range namespaces {
		for i := range each {
			if !all && i%3 == 0 {
				continue
			}
			fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-%04d, namespace: %s}, data: {pad: %q}}\n", i, ns, strings.Repeat("x", 500))
		}
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %s}, spec: {ports: [{port: 80}]}}\n", ns)
	}
	return b.String()
}

// A set over many namespaces costs one LIST of its members for each kind before and after, not one
// for each namespace. Applied and pruned objects cost one for each kind and namespace, and only
// pruned objects cost a request each.
func TestSetInManyNamespaces(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	const each = 36
	var namespaces []string
	for range 6 {
		namespaces = append(namespaces, e2etest.Namespace(t, c))
	}
	kubeconfig = inNamespace(t, kubeconfig, namespaces[0])
	apply := func(text string) *e2etest.Run {
		return e2etest.Plugin(t, kubeconfig, "apply", "--apply-set=wide", "--prune", "-f", e2etest.File(t, text)).Ends(t, 0)
	}
	n, gone := len(namespaces)*(each+1), len(namespaces)*each/3
	apply(spread(namespaces, each, true)).Says(t, fmt.Sprintf("%d created", n))
	from := len(p.Requests())
	apply(spread(namespaces, each, false)).Says(t, fmt.Sprintf("%d pruned", gone)).Says(t, fmt.Sprintf("%d unchanged", n-gone))
	counts := map[string]int{}
	for _, r := range p.Requests()[from:] {
		path, query, _ := strings.Cut(r.URI, "?")
		where, what := "everywhere", "all"
		if strings.Contains(path, "/namespaces/") {
			where = "in one"
		}
		switch {
		case strings.Contains(query, "watch=true"):
			what = "watch"
		case strings.Contains(query, "part-of"):
			what = "members"
		}
		if strings.Contains(path, "/configmaps") {
			counts[fmt.Sprintf("%s %s %s", r.Method, where, what)]++
		}
	}
	spaces := len(namespaces)
	want := map[string]int{
		"GET everywhere members": 2,          // before the first write, and before the prune
		"GET in one all":         2 * spaces, // objects to apply, and objects to prune
		"DELETE in one all":      gone,
	}
	for _, waits := range []string{"GET in one members", "GET in one watch"} { // until all are gone
		if counts[waits] > spaces {
			t.Errorf("%d requests %s, want at most one for each namespace", counts[waits], waits)
		}
		delete(counts, waits)
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("requests for ConfigMaps (-want +got):\n%s", diff)
	}
	left := 0
	for _, ns := range namespaces {
		left += len(e2etest.UIDs(t, c, ns))
	}
	if left != len(namespaces)*each-gone {
		t.Errorf("%d objects are left, want all but the removed ones", left)
	}
}
