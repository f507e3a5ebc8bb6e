package stories_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
	"github.com/k8sconnect/kubectl-k8sconnect/test/reportjudge"
)

// shared is the cluster of all stories.
var shared = cluster.Shared{Options: cluster.Options{Nodes: 1, AuditLog: "audit.log"}}

type testMain struct{ m *testing.M }

func (t testMain) Run() int {
	plugin.HeedSignals()
	return shared.Main(reportjudge.Runner{M: t.m, Shared: &shared})
}

func TestMain(m *testing.M) {
	testscript.Main(testMain{m}, map[string]func(){"kubectl-k8sconnect": plugin.Main})
}

// output is a run's output so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// run is a run of the plugin, in progress or ended.
type run struct {
	cmd            *exec.Cmd
	stdout, stderr output
}

// start starts the plugin with stdin.
func start(t *testing.T, kubeconfig, stdin string, args ...string) *run {
	t.Helper()
	r := &run{cmd: exec.CommandContext(t.Context(), "kubectl-k8sconnect", args...)}
	r.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = strings.NewReader(stdin), &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// ends waits for the end of the run, and checks its status.
func (r *run) ends(t *testing.T, status int) *run {
	t.Helper()
	var exit *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := r.cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("%s: exit status %d, want %d\n--- stdout:\n%s--- stderr:\n%s",
			strings.Join(r.cmd.Args, " "), got, status, &r.stdout, &r.stderr)
	}
	return r
}

// call runs the plugin to its end.
func call(t *testing.T, status int, kubeconfig, stdin string, args ...string) *run {
	t.Helper()
	return start(t, kubeconfig, stdin, args...).ends(t, status)
}

// hears waits until the run prints a text on stderr.
func (r *run) hears(t *testing.T, text string) {
	t.Helper()
	until(t, "it says "+text, func() bool { return strings.Contains(r.stderr.String(), text) },
		func() string { return r.stderr.String() })
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool, state func() string) {
	t.Helper()
	const patience = 10 * time.Minute
	if !cluster.Until(patience, is) {
		t.Fatalf("timed out after %s: %s\n%s", patience, what, state())
	}
}

// says fails the test unless a text contains all of these, in order.
func says(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for _, w := range want {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Fatalf("output does not contain %q, or not in this order: %q\n%s", w, want, text)
		}
		rest = after
	}
}

// corpus returns the folder of real manifests, which is not part of the project, and whether it
// exists.
func corpus() (string, bool) {
	dir := os.Getenv("CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	_, err := os.Stat(filepath.Join(dir, "INDEX.md"))
	return dir, err == nil
}
