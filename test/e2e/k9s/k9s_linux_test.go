package k9s_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
)

var shared = cluster.Shared{Options: cluster.Options{Nodes: 1}}

type testMain struct{ m *testing.M }

func (t testMain) Run() int { return shared.Main(t.m) }

func TestMain(m *testing.M) {
	testscript.Main(testMain{m}, map[string]func(){"kubectl-k8sconnect": plugin.Main})
}

const root = "../../.."

// screen is a terminal in tmux.
type screen struct{ socket string }

func (s screen) tmux(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "tmux", append([]string{"-S", s.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// shows waits until the screen contains all texts.
func (s screen) shows(t *testing.T, texts ...string) {
	t.Helper()
	const patience = 2 * time.Minute
	var shown string
	if !cluster.Until(patience, func() bool {
		shown = s.tmux(t, "capture-pane", "-p")
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	}) {
		t.Fatalf("the screen does not show %q:\n%s", texts, shown)
	}
}

func (s screen) presses(t *testing.T, keys ...string) {
	t.Helper()
	s.tmux(t, append([]string{"send-keys"}, keys...)...)
}

// close ends the terminal, and waits until its program, which writes to its home, has ended.
func (s screen) close(t *testing.T) {
	t.Helper()
	out, err := exec.Command("tmux", "-S", s.socket, "list-panes", "-F", "#{pane_pid}").Output() //nolint:noctx // a cleanup
	if err != nil {
		return // The program has ended.
	}
	_ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() //nolint:noctx // a cleanup
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || !cluster.Until(time.Minute, func() bool { return syscall.Kill(pid, 0) != nil }) {
		t.Errorf("k9s does not end: %v", err)
	}
}

// Every key of the example answers for the selected object, namespaced or not, and returns to k9s. It
// is part of make test-full, whose k9s is built from its module.
func TestKeys(t *testing.T) {
	circle.Full(t)
	k9s, err := filepath.Abs(filepath.Join(root, "bin", "k9s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(k9s); err != nil {
		t.Skip("bin/k9s is missing: make bin/k9s")
	}
	for _, name := range []string{"tmux", "less"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	c := shared.Cluster(t)
	ns := "k9s-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := c.CreateNamespace(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.DeleteNamespace(ns) })
	work, config := t.TempDir(), filepath.Join(t.TempDir(), "Application Support") // as on macOS
	if err := os.Mkdir(config, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	example, err := os.ReadFile(filepath.Join(root, "docs", "examples", "k9s", "plugins.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "k9s.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(page), "```sh\n")
	line, _, _ = strings.Cut(line, "\n")
	install := exec.CommandContext(t.Context(), "sh", "-ec", strings.Replace(line, "k9s info", k9s+" info", 1))
	install.Dir, install.Env = root, append(os.Environ(), "K9S_CONFIG_DIR="+config)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	if installed, err := os.ReadFile(filepath.Join(config, "plugins.yaml")); err != nil || string(installed) != string(example) {
		t.Fatalf("the page's command installs %s, %v", installed, err)
	}
	manifest := filepath.Join(work, "web.yaml")
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NS}, spec: {replicas: 1, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {disk: none}, containers: [{name: app, image: "registry.example/web:1"}]}}}}`
	write(manifest, strings.ReplaceAll(deployment, "NS", ns))
	path := filepath.Dir(c.Binary("kubectl")) + string(os.PathListSeparator) + os.Getenv("PATH")
	run := func(program string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.KubeconfigPath, "PATH="+path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
	}
	run("kubectl-k8sconnect", "apply", "-f", manifest)
	run(c.Binary("kubectl"), "scale", "deployment/web", "-n", ns, "--replicas=2")
	write(manifest, strings.ReplaceAll(strings.ReplaceAll(deployment, "NS", ns), "web:1", "web:2"))
	write(filepath.Join(work, "held.yaml"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: "+ns+", finalizers: [example.com/nobody]}}")
	run(c.Binary("kubectl"), "create", "-f", filepath.Join(work, "held.yaml"))
	run(c.Binary("kubectl"), "delete", "configmap/held", "-n", ns, "--wait=false")
	t.Cleanup(func() {
		_ = exec.Command(c.Binary("kubectl"), "--kubeconfig="+c.KubeconfigPath, "patch", "configmap/held", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`).Run() //nolint:noctx // a cleanup
	})
	if err := os.Remove(filepath.Join(work, "held.yaml")); err != nil {
		t.Fatal(err)
	}

	open := func(t *testing.T, view string) screen {
		t.Helper()
		s := screen{filepath.Join(t.TempDir(), "tmux")}
		t.Cleanup(func() { s.close(t) })
		s.tmux(t, "new-session", "-d", "-x", "200", "-y", "50", "-c", work,
			"-e", "KUBECONFIG="+c.KubeconfigPath, "-e", "PATH="+path, "-e", "K9S_CONFIG_DIR="+config, "-e", "HOME="+t.TempDir(), "-e", "TERM=xterm-256color",
			k9s, "--logoless", "--command", view, "--namespace", ns)
		return s
	}
	t.Run("deployment", func(t *testing.T) {
		s := open(t, "deployments")
		s.shows(t, "web", "<shift-w>", "<shift-y>")
		for _, tt := range []struct {
			key   string
			wants []string
		}{
			{"W", []string{"deployment.apps/web -n " + ns, "kubectl (scale)"}},
			{"H", []string{"revision 1, now", "created"}},
			{"X", []string{"nothing is terminating"}},
			{"Y", []string{"0 of 2 replicas are available", "nodeSelector disk=none"}},
			{"D", []string{"update  deployment.apps/web -n " + ns, "registry.example/web:2"}},
		} {
			s.presses(t, tt.key)
			s.shows(t, tt.wants...)
			s.presses(t, "q")
			s.shows(t, "<shift-w>", "web")
		}
	})
	t.Run("terminating", func(t *testing.T) {
		s := open(t, "configmaps")
		s.shows(t, "held")
		s.presses(t, "/")
		s.presses(t, "-l", "held")
		s.presses(t, "Enter")
		s.shows(t, "/held")
		s.presses(t, "X")
		s.shows(t, "configmap/held", "example.com/nobody")
	})
	t.Run("without a namespace", func(t *testing.T) {
		s := open(t, "nodes")
		s.shows(t, "<shift-w>")
		s.presses(t, "W")
		s.shows(t, "node/", "fields")
	})
}
