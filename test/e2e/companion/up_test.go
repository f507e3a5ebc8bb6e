package companion_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
)

// make webhook-up installs into the documented namespace, and ends on Ctrl-C without an error from
// make or any program.
func TestWebhookUp(t *testing.T) {
	circle.Full(t)
	if testing.Short() {
		t.Skip("it starts a control plane")
	}
	shared.Cluster(t) // programs are already built
	plugin.HeedSignals()
	cmd := exec.CommandContext(t.Context(), "make", "-o", "build", "-o", "cluster-build", "-o", "bin/helm", "webhook-up")
	cmd.Dir = "../../.."
	// A make that is called by another make prints more, also when it is interrupted.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "MAKEFLAGS=") || strings.HasPrefix(e, "MAKELEVEL=") || strings.HasPrefix(e, "MFLAGS=")
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var message bytes.Buffer
	cmd.Stderr = &message
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	path, found := strings.CutPrefix(strings.TrimSpace(line), "export KUBECONFIG=")
	if err != nil || !found {
		t.Errorf("%q, %v", line, err)
	} else {
		kubectl := exec.CommandContext(t.Context(), shared.Cluster(t).Binary("kubectl"), "get", "deployment/k8sconnect", "-n", "k8sconnect", "-o", "name", "--kubeconfig", path)
		if got, err := kubectl.CombinedOutput(); err != nil || string(got) != "deployment.apps/k8sconnect\n" {
			t.Errorf("%s, %v", got, err)
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil { // as from a terminal
		t.Error(err)
	}
	_ = cmd.Wait() // make ends by the signal
	for line := range strings.Lines(message.String()) {
		if !strings.HasPrefix(line, "metrics of a replica: ") {
			t.Errorf("unexpected line on stderr: %q", line)
		}
	}
}
