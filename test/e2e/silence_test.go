package e2e_test

import (
	"os"
	"syscall"
	"testing"
)

// A server that takes connections and never answers is given up when
// --server-timeout is over, not when its connections are (edge case 28).
func TestSilentServer(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := behind(t, c)
	p.Hold()
	set := file(t, configMaps(1, 1, "1"))
	for _, verb := range []string{"apply", "diff"} {
		// --timeout ends what would overrun it.
		k8sconnect(t, kubeconfig, verb, "-n", "default", "-f", set, "--server-timeout=3s", "--timeout=20s").
			ends(t, 2).says(t, "the API server can not be reached, after trying for")
	}
}

// A terminal that is closed ends the run as SIGTERM does: nothing that was read
// from the cluster is left in a folder.
func TestHangup(t *testing.T) {
	c := shared.Cluster(t)
	ns, dir := namespace(t, c), t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("KUBECTL_EXTERNAL_DIFF", `sh -c "sleep 60"`)
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
