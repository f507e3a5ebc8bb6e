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

// Memory stays within bounds for a large set, new, and again.
func TestMemory(t *testing.T) {
	t.Setenv("GOGC", "100") // As users have it; tests are run with less collection.
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

// Ten thousand objects, read and compared: every one of them in memory at once.
func TestMemoryOfTenThousand(t *testing.T) {
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

// memory waits for the end of the run and returns its peak of resident memory, in MB. The
// system's figure for a process includes that of the process that started it, which is
// this test; so the run is watched instead.
func (r *run) memory(t *testing.T) int {
	t.Helper()
	status := fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid)
	if _, err := os.Stat(status); err != nil {
		t.Skip("no /proc here to read the memory of a process from")
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

// highWater reads the most that a process had resident so far, in KB; 0 if it is
// gone.
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
