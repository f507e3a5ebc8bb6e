package e2e_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A run that is killed and repeated reaches the same end, and creates nothing twice (edge case 36).
func TestKilled(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	const n = 100
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(n, 100, "1"))
	for _, at := range []int{1, 40, 20, 30} { // together, fewer requests than objects
		e2etest.KilledAt(t, p, kubeconfig, at, "apply", "-n", ns, "-f", set, "--concurrency=2")
	}
	there := e2etest.UIDs(t, c, ns)
	if len(there) == 0 || len(there) == n {
		t.Fatalf("%d objects are there: it was not killed in the middle", len(there))
	}
	again := e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "-o", "json").Ends(t, 0).Report(t)
	if got := again.Summary; got["created"] != n-len(there) || got["unchanged"] != len(there) {
		t.Errorf("%d objects existed before the last run, which reports %v", len(there), got)
	}
	after := e2etest.UIDs(t, c, ns)
	if len(after) != n {
		t.Errorf("%d objects, want %d", len(after), n)
	}
	for name, uid := range there {
		if after[name] != uid {
			t.Errorf("%s was recreated", name)
		}
	}
}

// After a kill between the two steps of an adoption, the next run still removes fields that are not
// in the manifest (edge cases 30, 36).
func TestKilledDuringAdoption(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1")))
	set := e2etest.File(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-0000}, data: {value: \"2\"}}")

	p.Fail(-1, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), proxy.Fault{Status: 500, Delay: time.Minute})
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", set)
	r.Until(t, "the fields are ours, but for what changes", func() bool {
		return strings.Contains(managers(t, c, ns, "configmap/cm-0000"), "k8sconnect")
	})
	r.Signal(t, syscall.SIGKILL)
	r.Wait(t)
	p.Heal()

	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).
		Says(t, "removed  .data.pad").
		Says(t, `taken    .data.value  from kubectl-client-side-apply (Update, `).
		Says(t, ` ago): "1" → "2"`).
		Says(t, "1 object taken over from kubectl-client-side-apply")
	if got := e2etest.Kubectl(t, c, "get", "configmap/cm-0000", "-n", ns, "-o", "jsonpath={.data}{.metadata.annotations}"); got != `{"value":"2"}` {
		t.Errorf("data and annotations are %s, want only the value 2", got)
	}
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "1 unchanged")
}

// The same for a manager that --adopt-from names: values that it changed stay its own until they
// are overwritten, so a run without the flag meets conflicts (edge cases 30, 36).
func TestKilledDuringAdoptionByName(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0)
	e2etest.Kubectl(t, c, "patch", "configmap/cm-0000", "-n", ns, "--field-manager=kubectl-edit", "-p", `{"data":{"value":"by hand","added":"by hand"}}`)

	p.Fail(-1, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), proxy.Fault{Status: 500, Delay: time.Minute})
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", set, "--adopt-from=kubectl-edit")
	r.Until(t, "the fields are ours, but for what changes", func() bool {
		return strings.Contains(e2etest.Kubectl(t, c, "get", "configmap/cm-0000", "-n", ns, "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields}"), "k8sconnect.io/adopting/kubectl-edit")
	})
	r.Signal(t, syscall.SIGKILL)
	r.Wait(t)
	p.Heal()

	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 1).
		Says(t, `.data.value     yours "1"  live by hand  kubectl-edit`)
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "by hand" {
		t.Errorf("the value is %s, want by hand: it was overwritten without a conflict", got)
	}
	e2etest.Plugin(t, kubeconfig, "owners", "configmap/cm-0000", "-n", ns).Ends(t, 0).Says(t, "k8sconnect.io/adopting/kubectl-edit")
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--adopt-from=kubectl-edit").Ends(t, 0).
		Says(t, `taken    .data.value  from kubectl-edit (Update, `).
		Says(t, ` ago): by hand → "1"`).
		Says(t, "removed  .data.added").
		Says(t, "1 object taken over from kubectl-edit")
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "1 unchanged")
	next := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "2"))).Ends(t, 0).Says(t, "1 configured")
	if strings.Contains(next.Stdout.String(), "taken") {
		t.Errorf("a change of ours is reported as taken: %s", next)
	}
}

// A run is killed between the two steps of an adoption, and then another client uses client-side
// apply again: that write is the other client's, and conflicts (edge cases 30, 36).
func TestKilledDuringAdoptionThenWritten(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1")))
	set := e2etest.File(t, e2etest.ConfigMaps(1, 1, "2"))

	p.Fail(-1, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/"), proxy.Fault{Status: 500, Delay: time.Minute})
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", set)
	r.Until(t, "the fields are ours, but for what changes", func() bool {
		return strings.Contains(managers(t, c, ns, "configmap/cm-0000"), "k8sconnect")
	})
	r.Signal(t, syscall.SIGKILL)
	r.Wait(t)
	p.Heal()
	e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "3")))

	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 1).
		Says(t, `.data.value     yours "2"  live "3"  kubectl-client-side-apply`)
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "3" {
		t.Errorf("the value is %s: another client's write was overwritten", got)
	}
}

// managers returns the names of an object's field managers.
func managers(t *testing.T, c *cluster.Cluster, ns, object string) string {
	t.Helper()
	return e2etest.Kubectl(t, c, "get", object, "-n", ns, "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager}")
}

// Two parallel runs of one set both succeed: each object exists once, and one of the runs created
// it (edge case 37).
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(200, 100, "1"))
	one := e2etest.Start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "-o", "json")
	two := e2etest.Start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "-o", "json")
	one.Wait(t)
	two.Wait(t)
	one.Ends(t, 0)
	two.Ends(t, 0)
	if n := len(e2etest.UIDs(t, c, ns)); n != 200 {
		t.Errorf("%d objects, want 200", n)
	}
	// "created" says that the object did not exist when the run checked, and now matches the
	// manifest. Both runs may report it for an object, but at least one has to.
	for _, r := range []e2etest.Report{one.Report(t), two.Report(t)} {
		if done := r.Summary["created"] + r.Summary["configured"] + r.Summary["shared"] + r.Summary["unchanged"]; done != 200 {
			t.Errorf("%v, want all 200 applied", r.Summary)
		}
	}
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "200 unchanged")
}

// The same with different values and one manager: for each object, the last write wins, and nothing
// fails (edge case 37).
func TestTwoRunsAtOnceWithDifferentValues(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	sets := []string{e2etest.File(t, e2etest.ConfigMaps(100, 100, "1")), e2etest.File(t, e2etest.ConfigMaps(100, 100, "2"))}
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[0]).Ends(t, 0)
	one := e2etest.Start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[0])
	two := e2etest.Start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[1])
	one.Wait(t)
	two.Wait(t)
	one.Ends(t, 0)
	two.Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[1], "-o", "json").Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[1]).Ends(t, 0).Says(t, "100 unchanged")
}
