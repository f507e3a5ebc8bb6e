package sets_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// values returns the values of a set's ConfigMaps, by name.
func values(t *testing.T, c *cluster.Cluster, ns string) map[string]string {
	t.Helper()
	out := map[string]string{}
	const each = `jsonpath={range .items[*]}{.metadata.name} {.data.value}{"\n"}{end}`
	for line := range strings.Lines(e2etest.Kubectl(t, c, "get", "configmap", "-n", ns, "-o", each)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "cm-") {
			out[name] = value
		}
	}
	return out
}

// applySet returns the arguments of a run of these tests' set.
func applySet(ns, set string, more ...string) []string {
	return append([]string{"apply", "-n", ns, "-f", set, "--apply-set=shop", "--prune"}, more...)
}

// Of two parallel runs of one set, the second one names the run that has the lock, or waits. The
// result is that of one run, not a mixture (edge case 104).
func TestTwoRunsOfASet(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	const n = 60
	one, two := e2etest.File(t, e2etest.ConfigMaps(n, 1, "one")), e2etest.File(t, e2etest.ConfigMaps(n, 1, "two"))
	// The first run is in progress until the server has received one object.
	p.Fail(-1, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/cm-0030"), proxy.Fault{Status: http.StatusServiceUnavailable})
	first := e2etest.Start(t, kubeconfig, applySet(ns, one, "--run-id=first", "--server-timeout=10m")...)
	first.Until(t, "most are there", func() bool { return len(e2etest.UIDs(t, c, ns)) > n/2 })

	r := e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, two, "--lock-timeout=0")...).Ends(t, 1)
	r.Says(t, "the set is locked by ").Says(t, "run first, since ").Says(t, "--lock-timeout")
	if strings.Contains(r.Stderr.String(), "; waited 1m") {
		t.Errorf("it waited for as long as without --lock-timeout: %s", r)
	}
	for name, value := range values(t, c, ns) {
		if value != "one" {
			t.Errorf("%s is %s: the second run has written without the lock", name, value)
		}
	}
	second := e2etest.Start(t, c.KubeconfigPath, applySet(ns, two, "--lock-timeout=5m")...)
	p.Heal()
	first.Wait(t)
	first.Ends(t, 0)
	second.Wait(t)
	second.Ends(t, 0).Says(t, fmt.Sprintf("%d configured", n))
	for name, value := range values(t, c, ns) {
		if value != "two" {
			t.Errorf("%s is %s, want two", name, value)
		}
	}
	if holder := e2etest.Kubectl(t, c, "get", "lease", e2etest.Lease(t, c, ns), "-n", ns, "-o", "jsonpath={.spec.holderIdentity}"); holder != "" {
		t.Errorf("the lock is still held by %s", holder)
	}
}

// A run that loses its lock stops writing, reports that, and ends with 1.
func TestRunThatLosesItsLock(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(60, 1, "1"))
	p.Fail(-1, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), proxy.Fault{Delay: 500 * time.Millisecond, Slow: true})
	r := e2etest.Start(t, kubeconfig, applySet(ns, set, "--concurrency=1")...)
	r.Until(t, "it writes", func() bool { return len(e2etest.UIDs(t, c, ns)) > 0 })
	e2etest.Kubectl(t, c, "patch", "lease", e2etest.Lease(t, c, ns), "-n", ns, "--type=merge", "-p", `{"spec":{"holderIdentity":"somebody"}}`)
	r.Wait(t)
	r.Ends(t, 1).Says(t, "the lock of the set was lost: somebody took it over").Says(t, "skipped")
	there := len(e2etest.UIDs(t, c, ns))
	if there == 0 || there == 60 {
		t.Errorf("%d of 60 objects exist, want some but not all", there)
	}
	if got := e2etest.Kubectl(t, c, "get", "lease", e2etest.Lease(t, c, ns), "-n", ns, "-o", "jsonpath={.spec.holderIdentity}"); got != "somebody" {
		t.Errorf("the holder of the lock is %q, want somebody", got)
	}
}

// Without a set, there is no lock and no extra request. With a set, the lock costs three requests,
// and Events two.
func TestLockRequests(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(5, 1, "1"))
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0)
	leases, events := "/apis/coordination.k8s.io/", "/api/v1/namespaces/"+ns+"/events"
	if n := p.Count("", leases) + p.Count("", events); n != 0 {
		t.Errorf("%d requests for a lock without a set", n)
	}
	e2etest.Plugin(t, kubeconfig, applySet(ns, set, "--dry-run=server")...).Ends(t, 0)
	e2etest.Plugin(t, kubeconfig, "diff", "-n", ns, "-f", set, "--apply-set=shop")
	if n := p.Count("", leases) + p.Count("", events); n != 0 {
		t.Errorf("%d requests for a lock of a dry run", n)
	}
	e2etest.Plugin(t, kubeconfig, applySet(ns, set, "--run-id=job-1")...).Ends(t, 0)
	gets, created, patched := p.Count("GET", leases), p.Count("POST", leases), p.Count("PATCH", leases)
	if gets != 1 || created != 1 || patched < 1 || p.Count("POST", events) != 2 {
		t.Errorf("Lease: %d reads, %d creates, %d patches; %d Events; want 1, 1, at least 1; 2", gets, created, patched, p.Count("POST", events))
	}
	reported := e2etest.Kubectl(t, c, "get", "events", "-n", ns, "--field-selector=involvedObject.kind=Secret,involvedObject.name=shop",
		"-o", `jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}`)
	for _, want := range []string{"RunStarted: apply, run job-1, by ", ": 5 objects\n", "RunSucceeded: apply, run job-1, by "} {
		if !strings.Contains(reported, want) {
			t.Errorf("no Event contains %q: %s", want, reported)
		}
	}
}

// A run of a set that is killed at any request and repeated has the result of one uninterrupted
// run: nothing is created twice, and no pruned object stays (edge case 36). make test-long tries
// every request, other runs some of them.
func TestSetKilledAtEachRequest(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	const n, left = 60, 20
	// The second input changes the remaining objects, and has as many new objects as removed ones.
	before := e2etest.ConfigMaps(n, 1, "1")
	after := e2etest.ConfigMaps(n+left, 1, "2")
	for i := range left {
		after = e2etest.Without(after, fmt.Sprintf("cm-%04d", i))
	}
	// The same for a kind: the parent's annotations have to be right at each moment.
	before += "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: left}}\n"
	after += "---\n{apiVersion: v1, kind: Service, metadata: {name: new}, spec: {ports: [{port: 80}]}}\n"
	first, second := e2etest.File(t, before), e2etest.File(t, after)

	clean := func(t *testing.T, ns string) { e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, first)...).Ends(t, 0) }
	promise := func(t *testing.T, ns string) string {
		t.Helper()
		return e2etest.Kubectl(t, c, "get", "secret/shop", "-n", ns, "-o", "jsonpath={.metadata.annotations}")
	}
	ns := e2etest.Namespace(t, c)
	clean(t, ns)
	from := len(p.Requests())
	e2etest.Plugin(t, kubeconfig, applySet(ns, second, "--concurrency=4")...).Ends(t, 0)
	requests, want, promised := len(p.Requests())-from, values(t, c, ns), promise(t, ns)
	if len(want) != n {
		t.Fatalf("a clean run ends with %d objects", len(want))
	}
	for _, at := range e2etest.SomeOf(requests) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			ns := e2etest.Namespace(t, c)
			clean(t, ns)
			e2etest.KilledAt(t, p, kubeconfig, at, applySet(ns, second, "--concurrency=4")...)
			there := e2etest.UIDs(t, c, ns)
			e2etest.Freed(t, c, ns)
			e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, second)...).Ends(t, 0)
			now := e2etest.UIDs(t, c, ns)
			live := values(t, c, ns)
			for name, value := range want {
				if got := live[name]; got != value {
					t.Errorf("%s is %q, want %q", name, got, value)
				}
				if uid := there[name]; uid != "" && uid != now[name] {
					t.Errorf("%s was created twice", name)
				}
			}
			if len(now) != len(want) {
				t.Errorf("%d objects, want %d", len(now), len(want))
			}
			if got := e2etest.Kubectl(t, c, "get", "serviceaccounts,services", "-n", ns, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); strings.TrimSpace(got) != "service/new" {
				t.Errorf("objects of the other kinds are %q, want service/new", got)
			}
			if got := promise(t, ns); got != promised {
				t.Errorf("the annotations of the parent are %s, want %s", got, promised)
			}
		})
	}
}

// The rights in docs/rbac.md suffice for the lock, without Events. Without them, the run reports
// the missing rights and writes nothing.
func TestRightsOfALock(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(2, 1, "1"))
	const user = "locker"
	kubeconfig := e2etest.KubeconfigOf(t, c, user, ns)
	role := func(leases ...string) rbacv1.Role {
		r := rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "k8sconnect-" + user}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list", "create", "patch", "delete"}},
		}}
		if len(leases) > 0 {
			r.Rules = append(r.Rules, rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: leases})
		}
		return r
	}
	e2etest.Grant(t, c, role(), ns, user)
	e2etest.Plugin(t, kubeconfig, applySet(ns, set)...).Ends(t, 2).
		Says(t, "cannot lock the set").Says(t, "needs the verbs get, create and patch on leases.coordination.k8s.io in namespace "+ns)
	if n := len(e2etest.UIDs(t, c, ns)); n != 0 {
		t.Errorf("%d objects were written without the lock", n)
	}
	e2etest.Grant(t, c, role("get", "create", "patch"), ns, user)
	e2etest.Until(t, "it may lock", func() bool {
		return e2etest.KubectlCommand(t, c, "auth", "can-i", "patch", "leases.coordination.k8s.io", "-n", ns, "--as="+user).Run() == nil
	})
	r := e2etest.Plugin(t, kubeconfig, applySet(ns, set)...).Ends(t, 0)
	if message := r.Stdout.String() + r.Stderr.String(); strings.Contains(message, "forbidden") || strings.Contains(message, "event") {
		t.Errorf("output mentions a missing right or Events: %s", r)
	}
}
