package e2e_test

import (
	"net/http"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A server that accepts connections but never responds is given up after --server-timeout, not when
// its connections time out (edge case 28).
func TestSilentServer(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Behind(t, c)
	p.Hold()
	set := e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))
	for _, verb := range []string{"apply", "diff"} {
		// --timeout ends a run that would take longer.
		e2etest.Plugin(t, kubeconfig, verb, "-n", "default", "-f", set, "--server-timeout=3s", "--timeout=20s").
			Ends(t, 2).Says(t, "the API server cannot be reached, after trying for")
	}
}

// If one request hangs on a healthy server, that is reported repeatedly, with the request's time
// limit (edge case 91).
func TestHangingRequestIsReported(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	p.Fail(-1, proxy.Path("PATCH", "/api/v1/namespaces/"+ns), proxy.Fault{Delay: 15 * time.Second, Status: http.StatusForbidden})
	r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1")), "--server-timeout=4s").Ends(t, 1)
	message := regexp.MustCompile(`(?m)^configmap/cm-0000 -n ` + ns + ` \(\d+s of 2m\): waiting for a response; the API server itself is healthy$`)
	if n := len(message.FindAllString(r.Stderr.String(), -1)); n != 1 {
		t.Errorf("reported %d times at once, want once: %s", n, r)
	}
	r.Says(t, "0 of 1 applied; configmap/cm-0000 -n "+ns+" (")
}

// Closing the terminal ends the run like SIGTERM: no data from the cluster remains in a folder.
func TestHangup(t *testing.T) {
	c := shared.Cluster(t)
	ns, dir := e2etest.Namespace(t, c), t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("KUBECTL_EXTERNAL_DIFF", `sh -c "exec sleep 60 >/dev/null 2>&1"`) // outlives the test, which waits for its output to be closed
	left := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	set := e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))
	before := left()
	r := e2etest.Start(t, c.KubeconfigPath, "diff", "-n", ns, "-f", set)
	e2etest.Until(t, "the program runs", func() bool { return left() > before })
	r.Signal(t, syscall.SIGHUP)
	_ = r.Cmd.Process.Signal(syscall.SIGHUP) // as a shell does; may have ended
	if r.Wait(t) == -1 {
		t.Errorf("killed: %s", r)
	}
	if left() != before {
		t.Errorf("%d entries are left in the folder for temporary files, want %d", left(), before)
	}
}
