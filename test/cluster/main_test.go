package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// everything is a cluster with all programs; small has only the API server. Tests that stop
// programs, or read the log, start their own.
var (
	everything = Shared{Options: Options{Nodes: 2}}
	small      = Shared{Options: Options{AuditLog: "audit.log"}}
)

func TestMain(m *testing.M) {
	if ownerMain() {
		return
	}
	if !circle.Of(false, true, true) { // Other tests also fail on a broken control plane.
		fmt.Println("the harness is tested by make test-full")
		return
	}
	_ = os.Unsetenv(EnvKubeconfig) // only the harness's own clusters are tested here
	status := m.Run()
	status = max(status, everything.Main(done{}), small.Main(done{}))
	os.Exit(status)
}

// done is a testing.M whose tests have finished.
type done struct{}

func (done) Run() int { return 0 }

// kubectl runs kubectl and returns its output.
func kubectl(t *testing.T, c *Cluster, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Binary("kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func mustKubectl(t *testing.T, c *Cluster, kubeconfig string, args ...string) string {
	t.Helper()
	out, err := kubectl(t, c, kubeconfig, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("timed out after a minute: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
