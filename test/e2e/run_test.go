package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// run is a run of the plugin, in progress or ended.
type run struct {
	cmd            *exec.Cmd
	stdout, stderr output
	over           chan struct{}
	err            error
}

// output can be read during the run.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) Bytes() []byte { return []byte(o.String()) }
func (o *output) Len() int      { return len(o.String()) }

// start starts the plugin with its own cache. If the test fails during the run, it logs the output.
func start(t *testing.T, kubeconfig string, args ...string) *run {
	t.Helper()
	r := &run{cmd: exec.CommandContext(t.Context(), "kubectl-k8sconnect", args...), over: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.err = r.cmd.Wait(); close(r.over) }()
	t.Cleanup(func() { // the test's context has ended, so the run ends
		under := !r.isOver()
		if <-r.over; under && t.Failed() {
			t.Logf("the run had not ended: %s", r)
		}
	})
	return r
}

func (r *run) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// wait returns the exit status; -1 if the run was killed.
func (r *run) wait(t *testing.T) int {
	t.Helper()
	<-r.over
	if exit := (*exec.ExitError)(nil); r.err != nil && !errors.As(r.err, &exit) {
		t.Fatal(r.err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// until waits for a condition during the run.
func (r *run) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	until(t, what, func() bool {
		over := r.isOver()
		if done := is(); done || !over {
			return done
		}
		t.Fatalf("the run ended before this was true: %s: %s", what, r)
		return false
	})
}

func (r *run) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

func (r *run) String() string {
	return fmt.Sprintf("%s\nexit status %d\n--- stdout:\n%s--- stderr:\n%s",
		strings.Join(r.cmd.Args, " "), r.cmd.ProcessState.ExitCode(), ends(r.stdout.String()), ends(r.stderr.String()))
}

// ends removes the middle of a long text.
func ends(text string) string {
	const most = 1000
	if len(text) <= 2*most {
		return text
	}
	return text[:most] + "\n…\n" + text[len(text)-most:]
}

// k8sconnect runs the plugin to its end.
func k8sconnect(t *testing.T, kubeconfig string, args ...string) *run {
	t.Helper()
	r := start(t, kubeconfig, args...)
	r.wait(t)
	return r
}

// ends fails the test unless the run has ended with that status.
func (r *run) ends(t *testing.T, status int) *run {
	t.Helper()
	if got := r.cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("exit status %d, want %d: %s", got, status, r)
	}
	return r
}

// says fails the test unless one of the outputs contains the text.
func (r *run) says(t *testing.T, text string) *run {
	t.Helper()
	if !strings.Contains(r.stdout.String()+r.stderr.String(), text) {
		t.Fatalf("output does not contain %q: %s", text, r)
	}
	return r
}

// offers fails the test unless the hint offers a rollback to exactly these runs, each with its time
// and user.
func (r *run) offers(t *testing.T, names ...string) *run {
	t.Helper()
	_, list, _ := strings.Cut(r.stderr.String(), "available runs:\n")
	var got []string
	for line := range strings.Lines(list) {
		entry := regexp.MustCompile(`^    (\S+) of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, by \S+\n$`).FindStringSubmatch(line)
		if entry == nil {
			break
		}
		got = append(got, entry[1])
	}
	if !slices.Equal(got, names) {
		t.Fatalf("output offers %q, want %q: %s", got, names, r)
	}
	return r
}

// report is the output of -o json.
type report struct {
	Run     string
	Objects []struct {
		Kind, Namespace, Name, Action string
		Error                         struct{ Reason, Message, Hint string }
		Conflicts                     []struct {
			Path   string
			Owners []struct{ Manager string }
		}
		Rollback struct{ Action string }
	}
	Summary map[string]int
}

func (r *run) report(t *testing.T) report {
	t.Helper()
	var out report
	if err := json.Unmarshal(r.stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	return out
}

// kubectl calls the real kubectl and returns its output.
func kubectl(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	out, err := kubectlCommand(t, c, args...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("kubectl %s: %s", strings.Join(args, " "), exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}

// kubectlCommand returns a kubectl command, which also works in a Cleanup.
func kubectlCommand(t *testing.T, c *cluster.Cluster, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(context.WithoutCancel(t.Context()), c.Binary("kubectl"), append(args, "--kubeconfig", c.KubeconfigPath)...)
}

// namespace creates a namespace for a test.
func namespace(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	ns := "e2e-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := c.CreateNamespace(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.DeleteNamespace(ns) })
	return ns
}

// file writes a manifest.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "set.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// configMaps returns n ConfigMaps, each with a value of that many bytes.
func configMaps(n, bytes int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%04d}\ndata: {value: %q, pad: %q}\n",
			i, value, strings.Repeat("x", bytes))
	}
	return b.String()
}

// uids returns the UIDs of the existing configMaps, by name.
func uids(t *testing.T, c *cluster.Cluster, ns string) map[string]string {
	t.Helper()
	out := map[string]string{}
	const each = `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}`
	for line := range strings.Lines(kubectl(t, c, "get", "configmap", "-n", ns, "-o", each)) {
		if name, uid, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "cm-") {
			out[name] = uid
		}
	}
	return out
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	const patience = 10 * time.Minute
	if !cluster.Until(patience, is) {
		t.Fatalf("timed out after %s: %s", patience, what)
	}
}
