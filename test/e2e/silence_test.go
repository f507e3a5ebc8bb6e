package e2e_test

import (
	"net/http"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// A server that takes connections and never answers is given up when
// --server-timeout is over, not when its connections are (edge case 28).
func TestSilentServer(t *testing.T) {
	t.Parallel() // It keeps to its namespaces.
	c := shared.Cluster(t)
	p, kubeconfig := behind(t, c)
	p.Hold()
	set := file(t, configMaps(1, 1, "1"))
	for _, verb := range []string{"apply", "diff"} {
		// --timeout ends what would overrun it.
		k8sconnect(t, kubeconfig, verb, "-n", "default", "-f", set, "--server-timeout=3s", "--timeout=20s").
			ends(t, 2).says(t, "the API server cannot be reached, after trying for")
	}
}

// One request that hangs on a server that is well is reported, again and again, with how
// long it may take (edge case 91).
func TestAWordWhileARequestHangs(t *testing.T) {
	t.Parallel() // It keeps to its namespaces.
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	p.Fail(-1, proxy.Path("PATCH", "/api/v1/namespaces/"+ns), proxy.Fault{Delay: 15 * time.Second, Status: http.StatusForbidden})
	r := k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "1")), "--server-timeout=4s").ends(t, 1)
	said := regexp.MustCompile(`(?m)^configmap/cm-0000 -n ` + ns + ` \(\d+s of 2m\): waiting for an answer; the API server itself is healthy$`)
	if n := len(said.FindAllString(r.stderr.String(), -1)); n != 1 {
		t.Errorf("reported %d times at once, want once: %s", n, r)
	}
	r.says(t, "0 of 1 applied; configmap/cm-0000 -n "+ns+" (")
}

// A terminal that is closed ends the run as SIGTERM does: nothing that was read
// from the cluster is left in a folder.
func TestHangup(t *testing.T) {
	c := shared.Cluster(t)
	ns, dir := namespace(t, c), t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("KUBECTL_EXTERNAL_DIFF", `sh -c "exec sleep 60 >/dev/null 2>&1"`) // It lives longer than the test, which waits for who holds its output.
	left := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	set := file(t, configMaps(1, 1, "1"))
	before := left()
	r := start(t, c.KubeconfigPath, "diff", "-n", ns, "-f", set)
	until(t, "the program runs", func() bool { return left() > before })
	r.signal(t, syscall.SIGHUP)
	_ = r.cmd.Process.Signal(syscall.SIGHUP) // as a shell does as well; it may be over
	if r.wait(t) == -1 {
		t.Errorf("killed: %s", r)
	}
	if left() != before {
		t.Errorf("%d entries are left in the folder for temporary files, want %d", left(), before)
	}
}
