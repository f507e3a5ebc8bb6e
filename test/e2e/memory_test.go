package e2e_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// A large set needs bounded memory, at its creation and afterwards.
func TestMemory(t *testing.T) {
	t.Setenv("GOGC", "100") // as for users; tests run with less garbage collection
	c := shared.Cluster(t)
	ns, set := namespace(t, c), file(t, configMaps(1000, 1000, "1"))
	const limit = 120
	for _, want := range []string{"1000 created", "1000 unchanged"} {
		r := start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set)
		got := r.memory(t)
		r.ends(t, 0).says(t, want)
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
	set := file(t, configMaps(10_000, 1000, "1"))
	r := start(t, c.KubeconfigPath, "apply", "-n", namespace(t, c), "-f", set, "--dry-run=client")
	got := r.memory(t)
	r.ends(t, 0).says(t, "10000 to create")
	if got > limit {
		t.Errorf("%d MB, want at most %d", got, limit)
	}
	t.Logf("%d MB", got)
}

// memory waits for the end of the run and returns its peak resident memory in MB. It polls the run,
// because the system's peak for a process includes its parent, which is this test.
func (r *run) memory(t *testing.T) int {
	t.Helper()
	status := fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid)
	if _, err := os.Stat(status); err != nil {
		t.Skip("needs /proc to read the memory of a process")
	}
	peak := 0
	for {
		select {
		case <-r.over:
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
