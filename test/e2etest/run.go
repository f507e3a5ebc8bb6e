package e2etest

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

// Run is a run of the plugin, in progress or ended.
type Run struct {
	Cmd            *exec.Cmd
	Stdout, Stderr output
	Over           chan struct{}
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

func (o *output) Len() int { return len(o.String()) }

// Start starts the plugin with its own cache. If the test fails during the run, it logs the output.
func Start(t *testing.T, kubeconfig string, args ...string) *Run {
	t.Helper()
	r := &Run{Cmd: exec.CommandContext(t.Context(), "kubectl-k8sconnect", args...), Over: make(chan struct{})}
	r.Cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	r.Cmd.Stdout, r.Cmd.Stderr = &r.Stdout, &r.Stderr
	if err := r.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.err = r.Cmd.Wait(); close(r.Over) }()
	t.Cleanup(func() { // the test's context has ended, so the run ends
		under := !r.IsOver()
		if <-r.Over; under && t.Failed() {
			t.Logf("the run had not ended: %s", r)
		}
	})
	return r
}

// IsOver reports whether the run has ended.
func (r *Run) IsOver() bool {
	select {
	case <-r.Over:
		return true
	default:
		return false
	}
}

// Wait returns the exit status; -1 if the run was killed.
func (r *Run) Wait(t *testing.T) int {
	t.Helper()
	<-r.Over
	if exit := (*exec.ExitError)(nil); r.err != nil && !errors.As(r.err, &exit) {
		t.Fatal(r.err)
	}
	return r.Cmd.ProcessState.ExitCode()
}

// Until waits for a condition during the run.
func (r *Run) Until(t *testing.T, what string, is func() bool) {
	t.Helper()
	Until(t, what, func() bool {
		over := r.IsOver()
		if done := is(); done || !over {
			return done
		}
		t.Fatalf("the run ended before this was true: %s: %s", what, r)
		return false
	})
}

// Signal sends a signal to the plugin.
func (r *Run) Signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := r.Cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

func (r *Run) String() string {
	return fmt.Sprintf("%s\nexit status %d\n--- stdout:\n%s--- stderr:\n%s",
		strings.Join(r.Cmd.Args, " "), r.Cmd.ProcessState.ExitCode(), ends(r.Stdout.String()), ends(r.Stderr.String()))
}

// ends removes the middle of a long text.
func ends(text string) string {
	const most = 1000
	if len(text) <= 2*most {
		return text
	}
	return text[:most] + "\n…\n" + text[len(text)-most:]
}

// Plugin runs the plugin to its end.
func Plugin(t *testing.T, kubeconfig string, args ...string) *Run {
	t.Helper()
	r := Start(t, kubeconfig, args...)
	r.Wait(t)
	return r
}

// Ends fails the test unless the run has ended with that status.
func (r *Run) Ends(t *testing.T, status int) *Run {
	t.Helper()
	if got := r.Cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("exit status %d, want %d: %s", got, status, r)
	}
	return r
}

// Says fails the test unless one of the outputs contains the text.
func (r *Run) Says(t *testing.T, text string) *Run {
	t.Helper()
	if !strings.Contains(r.Stdout.String()+r.Stderr.String(), text) {
		t.Fatalf("output does not contain %q: %s", text, r)
	}
	return r
}

// Matches fails the test unless one of the outputs matches the pattern.
func (r *Run) Matches(t *testing.T, pattern string) *Run {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(r.Stdout.String() + r.Stderr.String()) {
		t.Fatalf("output does not match %q: %s", pattern, r)
	}
	return r
}

// Offers fails the test unless the hint offers a rollback to exactly these runs, each with its time
// and user.
func (r *Run) Offers(t *testing.T, names ...string) *Run {
	t.Helper()
	_, list, _ := strings.Cut(r.Stderr.String(), "available runs:\n")
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

// Confirmable writes the plan of a diff to a file.
func Confirmable(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	r := Plugin(t, c.KubeconfigPath, append([]string{"diff", "-o", "json"}, args...)...).Ends(t, 1)
	plan := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(plan, r.Stdout.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return plan
}

// Report is the output of -o json.
type Report struct {
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

// Report returns the run's output, which must be that of -o json.
func (r *Run) Report(t *testing.T) Report {
	t.Helper()
	var out Report
	if err := json.Unmarshal(r.Stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	return out
}

// Kubectl calls the real kubectl and returns its output.
func Kubectl(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	out, err := KubectlCommand(t, c, args...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("kubectl %s: %s", strings.Join(args, " "), exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}

// KubectlCommand returns a kubectl command, which also works in a Cleanup.
func KubectlCommand(t *testing.T, c *cluster.Cluster, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(context.WithoutCancel(t.Context()), c.Binary("kubectl"), append(args, "--kubeconfig", c.KubeconfigPath)...)
}

// Namespace creates a namespace for a test.
func Namespace(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	ns := "e2e-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := c.CreateNamespace(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.DeleteNamespace(ns) })
	return ns
}

// File writes a manifest.
func File(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "set.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ConfigMaps returns n ConfigMaps, each with a value of that many bytes.
func ConfigMaps(n, bytes int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%04d}\ndata: {value: %q, pad: %q}\n",
			i, value, strings.Repeat("x", bytes))
	}
	return b.String()
}

// UIDs returns the UIDs of the existing configMaps, by name.
func UIDs(t *testing.T, c *cluster.Cluster, ns string) map[string]string {
	t.Helper()
	out := map[string]string{}
	const each = `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}`
	for line := range strings.Lines(Kubectl(t, c, "get", "configmap", "-n", ns, "-o", each)) {
		if name, uid, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "cm-") {
			out[name] = uid
		}
	}
	return out
}

// Until waits for a condition.
func Until(t *testing.T, what string, is func() bool) {
	t.Helper()
	const patience = 10 * time.Minute
	if !cluster.Until(patience, is) {
		t.Fatalf("timed out after %s: %s", patience, what)
	}
}

// InShell runs a command that the plugin printed.
func InShell(t *testing.T, c *cluster.Cluster, command string) {
	t.Helper()
	plugins := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(plugins, "kubectl-k8sconnect")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.KubeconfigPath, "HOME="+t.TempDir(),
		"PATH="+plugins+string(os.PathListSeparator)+filepath.Dir(c.Binary("kubectl"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	t.Logf("$ %s\n%s", command, out)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

// After returns the text after a mark; "" if there is none.
func After(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}
