package e2e_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A large set needs bounded memory, at its creation and afterwards.
func TestMemory(t *testing.T) {
	t.Setenv("GOGC", "100") // as for users; tests run with less garbage collection
	c := shared.Cluster(t)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(1000, 1000, "1"))
	const limit = 120
	for _, want := range []string{"1000 created", "1000 unchanged"} {
		r := e2etest.Start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set)
		got := peakMemory(t, r)
		r.Ends(t, 0).Says(t, want)
		if got > limit {
			t.Errorf("%s: %d MB, want at most %d", want, got, limit)
		}
		t.Logf("%s: %d MB", want, got)
	}
}

// Ten thousand objects are read and compared, all in memory at once.
func TestMemoryForTenThousandObjects(t *testing.T) {
	circle.Full(t)
	t.Setenv("GOGC", "100")
	c := shared.Cluster(t)
	const limit = 400
	set := e2etest.File(t, e2etest.ConfigMaps(10_000, 1000, "1"))
	r := e2etest.Start(t, c.KubeconfigPath, "apply", "-n", e2etest.Namespace(t, c), "-f", set, "--dry-run=client")
	got := peakMemory(t, r)
	r.Ends(t, 0).Says(t, "10000 to create")
	if got > limit {
		t.Errorf("%d MB, want at most %d", got, limit)
	}
	t.Logf("%d MB", got)
}

// memory waits for the end of the run and returns its peak resident memory in MB. It polls the run,
// because the system's peak for a process includes its parent, which is this test.
func peakMemory(t *testing.T, r *e2etest.Run) int {
	t.Helper()
	status := fmt.Sprintf("/proc/%d/status", r.Cmd.Process.Pid)
	if _, err := os.Stat(status); err != nil {
		t.Skip("needs /proc to read the memory of a process")
	}
	peak := 0
	for {
		select {
		case <-r.Over:
			return peak >> 10
		case <-time.After(2 * time.Millisecond):
			peak = max(peak, highWater(status))
		}
	}
}

// highWater returns a process's peak resident memory so far, in KB, or 0 if it has ended.
func highWater(status string) int {
	text, err := os.ReadFile(status)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	value, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kb, _ := strconv.Atoi(value)
	return kb
}
