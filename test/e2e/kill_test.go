package e2e_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// A run that is killed and repeated reaches the same end, and creates nothing twice (edge case 36).
func TestKilled(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	const n = 100
	ns, set := namespace(t, c), file(t, configMaps(n, 100, "1"))
	for _, at := range []int{1, 40, 20, 30} { // together, fewer requests than objects
		killedAt(t, p, kubeconfig, at, "apply", "-n", ns, "-f", set, "--concurrency=2")
	}
	there := uids(t, c, ns)
	if len(there) == 0 || len(there) == n {
		t.Fatalf("%d objects are there: it was not killed in the middle", len(there))
	}
	again := k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "-o", "json").ends(t, 0).report(t)
	if got := again.Summary; got["created"] != n-len(there) || got["unchanged"] != len(there) {
		t.Errorf("%d objects existed before the last run, which reports %v", len(there), got)
	}
	after := uids(t, c, ns)
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
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	kubectl(t, c, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "1")))
	set := file(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-0000}, data: {value: \"2\"}}")

	p.Fail(-1, writes("/api/v1/namespaces/"+ns+"/configmaps/"), proxy.Fault{Status: 500, Delay: time.Minute})
	r := start(t, kubeconfig, "apply", "-n", ns, "-f", set)
	r.until(t, "the fields are ours, but for what changes", func() bool {
		return strings.Contains(managers(t, c, ns, "configmap/cm-0000"), "k8sconnect")
	})
	r.signal(t, syscall.SIGKILL)
	r.wait(t)
	p.Heal()

	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0).
		says(t, "removed  .data.pad").
		says(t, `taken    .data.value  from kubectl-client-side-apply (Update, `).
		says(t, ` ago): "1" → "2"`).
		says(t, "1 object taken over from kubectl-client-side-apply")
	if got := kubectl(t, c, "get", "configmap/cm-0000", "-n", ns, "-o", "jsonpath={.data}{.metadata.annotations}"); got != `{"value":"2"}` {
		t.Errorf("data and annotations are %s, want only the value 2", got)
	}
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "1 unchanged")
}

// The same for a manager that --adopt-from names: values that it changed stay its own until they
// are overwritten, so a run without the flag meets conflicts (edge cases 30, 36).
func TestKilledDuringAdoptionByName(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns, set := namespace(t, c), file(t, configMaps(1, 1, "1"))
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0)
	kubectl(t, c, "patch", "configmap/cm-0000", "-n", ns, "--field-manager=kubectl-edit", "-p", `{"data":{"value":"by hand","added":"by hand"}}`)

	p.Fail(-1, writes("/api/v1/namespaces/"+ns+"/configmaps/"), proxy.Fault{Status: 500, Delay: time.Minute})
	r := start(t, kubeconfig, "apply", "-n", ns, "-f", set, "--adopt-from=kubectl-edit")
	r.until(t, "the fields are ours, but for what changes", func() bool {
		return strings.Contains(kubectl(t, c, "get", "configmap/cm-0000", "-n", ns, "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields}"), "k8sconnect.io/adopting/kubectl-edit")
	})
	r.signal(t, syscall.SIGKILL)
	r.wait(t)
	p.Heal()

	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 1).
		says(t, `.data.value     yours "1"  live by hand  kubectl-edit`)
	if got := value(t, c, ns, "cm-0000"); got != "by hand" {
		t.Errorf("the value is %s, want by hand: it was overwritten without a conflict", got)
	}
	k8sconnect(t, kubeconfig, "owners", "configmap/cm-0000", "-n", ns).ends(t, 0).says(t, "k8sconnect.io/adopting/kubectl-edit")
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set, "--adopt-from=kubectl-edit").ends(t, 0).
		says(t, `taken    .data.value  from kubectl-edit (Update, `).
		says(t, ` ago): by hand → "1"`).
		says(t, "removed  .data.added").
		says(t, "1 object taken over from kubectl-edit")
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "1 unchanged")
	next := k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "2"))).ends(t, 0).says(t, "1 configured")
	if strings.Contains(next.stdout.String(), "taken") {
		t.Errorf("a change of ours is reported as taken: %s", next)
	}
}

// A run is killed between the two steps of an adoption, and then another client uses client-side
// apply again: that write is the other client's, and conflicts (edge cases 30, 36).
func TestKilledDuringAdoptionThenWritten(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	kubectl(t, c, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "1")))
	set := file(t, configMaps(1, 1, "2"))

	p.Fail(-1, writes("/api/v1/namespaces/"+ns+"/configmaps/"), proxy.Fault{Status: 500, Delay: time.Minute})
	r := start(t, kubeconfig, "apply", "-n", ns, "-f", set)
	r.until(t, "the fields are ours, but for what changes", func() bool {
		return strings.Contains(managers(t, c, ns, "configmap/cm-0000"), "k8sconnect")
	})
	r.signal(t, syscall.SIGKILL)
	r.wait(t)
	p.Heal()
	kubectl(t, c, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "3")))

	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 1).
		says(t, `.data.value     yours "2"  live "3"  kubectl-client-side-apply`)
	if got := value(t, c, ns, "cm-0000"); got != "3" {
		t.Errorf("the value is %s: another client's write was overwritten", got)
	}
}

// managers returns the names of an object's field managers.
func managers(t *testing.T, c *cluster.Cluster, ns, object string) string {
	t.Helper()
	return kubectl(t, c, "get", object, "-n", ns, "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager}")
}

// Two parallel runs of one set both succeed: each object exists once, and one of the runs created
// it (edge case 37).
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns, set := namespace(t, c), file(t, configMaps(200, 100, "1"))
	one := start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "-o", "json")
	two := start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "-o", "json")
	one.wait(t)
	two.wait(t)
	one.ends(t, 0)
	two.ends(t, 0)
	if n := len(uids(t, c, ns)); n != 200 {
		t.Errorf("%d objects, want 200", n)
	}
	// "created" says that the object did not exist when the run checked, and now matches the
	// manifest. Both runs may report it for an object, but at least one has to.
	for _, r := range []report{one.report(t), two.report(t)} {
		if done := r.Summary["created"] + r.Summary["configured"] + r.Summary["shared"] + r.Summary["unchanged"]; done != 200 {
			t.Errorf("%v, want all 200 applied", r.Summary)
		}
	}
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "200 unchanged")
}

// The same with different values and one manager: for each object, the last write wins, and nothing
// fails (edge case 37).
func TestTwoRunsAtOnceWithDifferentValues(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	sets := []string{file(t, configMaps(100, 100, "1")), file(t, configMaps(100, 100, "2"))}
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[0]).ends(t, 0)
	one := start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[0])
	two := start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[1])
	one.wait(t)
	two.wait(t)
	one.ends(t, 0)
	two.ends(t, 0)
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[1], "-o", "json").ends(t, 0)
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", sets[1]).ends(t, 0).says(t, "100 unchanged")
}

// value returns the value in one of configMaps.
func value(t *testing.T, c *cluster.Cluster, ns, name string) string {
	t.Helper()
	return kubectl(t, c, "get", "configmap/"+name, "-n", ns, "-o", "jsonpath={.data.value}")
}
