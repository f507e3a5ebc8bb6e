package e2e_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/terminal"
)

// session is a run of the plugin with a user at its terminal.
type session struct {
	cmd    *exec.Cmd
	screen *os.File
	ended  chan struct{}

	mu   sync.Mutex
	text strings.Builder
	seen int
}

// columns is the width of the terminal.
const columns = 120

// sit runs the plugin at its own terminal.
func sit(t *testing.T, kubeconfig string, env []string, args ...string) *session {
	t.Helper()
	screen, tty, err := terminal.Open(columns)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{cmd: exec.CommandContext(t.Context(), "kubectl-k8sconnect", args...), screen: screen, ended: make(chan struct{})}
	without := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CI=") || strings.HasPrefix(v, "TERM=") })
	s.cmd.Env = append(without, append([]string{"TERM=xterm", "KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir()}, env...)...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	go func() {
		defer close(s.ended)
		piece := make([]byte, 1<<12)
		for {
			n, err := screen.Read(piece)
			s.mu.Lock()
			s.text.Write(piece[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = screen.Close() })
	return s
}

// invisible matches control sequences of a terminal.
var invisible = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\r")

// shown returns the terminal's output without control sequences.
func (s *session) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return invisible.ReplaceAllString(s.text.String(), "")
}

// sees waits until the terminal shows a text after those seen before.
func (s *session) sees(t *testing.T, want string) {
	t.Helper()
	e2etest.Until(t, "the terminal shows "+want, func() bool {
		shown := s.shown()
		i := strings.Index(shown[min(s.seen, len(shown)):], want)
		if i >= 0 {
			s.seen += i + len(want)
			return true
		}
		select {
		case <-s.ended:
			t.Fatalf("no %q in:\n%s", want, s.shown())
		default:
		}
		return false
	})
}

func (s *session) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.screen.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end, and compares the exit status.
func (s *session) ends(t *testing.T, status int) {
	t.Helper()
	<-s.ended
	_ = s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("exit status %d, want %d:\n%s", got, status, s.shown())
	}
}

const liveApp = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "registry.example/app:REPLICAS"}]}
`

// inConflict returns a namespace in which others have scaled the Deployment and set its image, and
// a manifest that conflicts with both.
func inConflict(t *testing.T, c *cluster.Cluster) (ns, set string) {
	t.Helper()
	ns = e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(liveApp, "REPLICAS", "1"))).Ends(t, 0)
	e2etest.Kubectl(t, c, "scale", "deployment/web", "-n", ns, "--replicas=5")
	e2etest.Kubectl(t, c, "set", "image", "deployment/web", "-n", ns, "app=registry.example/app:hotfix", "--field-manager=edit")
	return ns, e2etest.File(t, strings.ReplaceAll(liveApp, "REPLICAS", "3"))
}

func webOf(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	return e2etest.Kubectl(t, c, "get", "deployment/web", "-n", ns, "-o",
		"jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image} {.metadata.generation}")
}

const asks = "[q]uit"

// A user at a terminal decides conflict by conflict. Nothing is written before the last answer, and
// the printed command does the same without questions.
func TestLive(t *testing.T) {
	c := shared.Cluster(t)
	ns, set := inConflict(t, c)
	before := webOf(t, c, ns)
	s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", set, "--kubeconfig", c.KubeconfigPath)
	s.sees(t, "conflict 1 of 2: deployment.apps/web -n "+ns)
	s.sees(t, ".spec.replicas")
	s.sees(t, asks)
	s.types(t, "l\n")
	s.sees(t, "conflict 2 of 2")
	s.sees(t, `containers[name="app"].image`)
	s.sees(t, "registry.example/app:hotfix")
	s.sees(t, asks)
	s.types(t, "show\n")
	s.sees(t, "edit (Update, ")
	s.sees(t, ", since 20")
	s.sees(t, asks)
	if now := webOf(t, c, ns); now != before {
		t.Errorf("written before the last answer: %s, then %s", before, now)
	}
	s.types(t, "t\n")
	s.sees(t, "configured")
	s.sees(t, "to give the same answers without prompts:")
	s.ends(t, 0)
	if got := webOf(t, c, ns); !strings.HasPrefix(got, "5 registry.example/app:3 ") {
		t.Errorf("the Deployment is %s, want the answers applied:\n%s", got, s.shown())
	}

	_, printed, _ := strings.Cut(s.shown(), "to give the same answers without prompts:\n")
	printed = strings.TrimSpace(printed)
	words, found := strings.CutPrefix(printed, "kubectl k8sconnect apply --kubeconfig="+c.KubeconfigPath)
	if !found {
		t.Fatalf("the printed command has no --kubeconfig: %s", printed)
	}
	again, _ := inConflict(t, c)
	shell := exec.CommandContext(t.Context(), "sh", "-c", "kubectl-k8sconnect apply --kubeconfig="+c.KubeconfigPath+strings.ReplaceAll(words, ns, again))
	shell.Env = append(os.Environ(), "KUBECONFIG=none", "HOME="+t.TempDir())
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%s\n%v: %s", printed, err, out)
	}
	if got := webOf(t, c, again); !strings.HasPrefix(got, "5 registry.example/app:3 ") {
		t.Errorf("after the printed command, the Deployment is %s:\n%s", got, printed)
	}
}

// Shared fields belong to all their managers: an answer for all fields also covers other objects'
// fields with the same managers, but not fields that only one of them owns.
func TestLiveTakeAllOfSharedFields(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	const settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {DATA}}\n---\n"
	of := func(data string) string {
		return strings.NewReplacer("NAME", "a", "DATA", data).Replace(settings) + strings.NewReplacer("NAME", "b", "DATA", data).Replace(settings)
	}
	for _, manager := range []string{"flux", "helm"} {
		e2etest.Kubectl(t, c, "apply", "--server-side", "-n", ns, "--field-manager="+manager, "-f", e2etest.File(t, of("both: theirs")))
	}
	e2etest.Kubectl(t, c, "apply", "--server-side", "-n", ns, "--field-manager=edit", "-f", e2etest.File(t, of("one: theirs")))
	s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", e2etest.File(t, of("both: mine, one: mine")))
	s.sees(t, "conflict 1 of 4: configmap/a -n "+ns)
	s.sees(t, "of flux and helm: [ta] take all, [la] leave all: ")
	s.types(t, "?\n")
	s.sees(t, "this and every other contested path that flux and helm own together")
	s.sees(t, asks)
	s.types(t, "ta\n")
	s.sees(t, "conflict 2 of 4: configmap/a")
	s.sees(t, "of edit: [ta] take all")
	s.types(t, "la\n")
	s.sees(t, "to give the same answers without prompts:")
	s.ends(t, 0)
	if strings.Contains(s.shown(), "conflict 3 of 4") {
		t.Errorf("a conflict covered by an answer for all was asked about again:\n%s", s.shown())
	}
	got := e2etest.Kubectl(t, c, "get", "configmaps/a", "configmaps/b", "-n", ns, "-o", "jsonpath={range .items[*]}{.data.both} {.data.one} {end}")
	if got != "mine theirs mine theirs " {
		t.Errorf("%s\n%s", got, s.shown())
	}
}

// If the user quits, ends the input or interrupts, the conflict remains: nothing is written,
// despite earlier answers, and the run ends as without a terminal.
func TestLiveQuit(t *testing.T) {
	c := shared.Cluster(t)
	ns, set := inConflict(t, c)
	before := webOf(t, c, ns)
	for name, keys := range map[string]string{"quit": "q\n", "end of input": "\x04", "interrupt": "\x03"} {
		t.Run(name, func(t *testing.T) {
			s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", set)
			s.sees(t, asks)
			s.types(t, "t\n")
			s.sees(t, "conflict 2 of 2")
			s.sees(t, asks)
			s.types(t, keys)
			s.sees(t, "Nothing in this phase was written")
			s.ends(t, 1)
			if now := webOf(t, c, ns); now != before {
				t.Errorf("the Deployment changed from %s to %s", before, now)
			}
		})
	}
}

// After a change during a prompt, the plugin asks again: an answer never overwrites a value that
// the user has not seen.
func TestLiveAsksAgain(t *testing.T) {
	c := shared.Cluster(t)
	ns, set := inConflict(t, c)
	s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", set)
	s.sees(t, "live   5")
	s.sees(t, asks)
	s.types(t, "t\n")
	s.sees(t, "conflict 2 of 2")
	s.sees(t, asks)
	e2etest.Kubectl(t, c, "scale", "deployment/web", "-n", ns, "--replicas=7")
	s.types(t, "leave\n")
	s.sees(t, "which has changed since your answer")
	s.sees(t, "live   7")
	s.sees(t, asks)
	if got := webOf(t, c, ns); !strings.HasPrefix(got, "7 registry.example/app:hotfix ") {
		t.Errorf("before the second answer, the Deployment is %s, want 7 replicas", got)
	}
	s.types(t, "t\n")
	s.ends(t, 0)
	if got := webOf(t, c, ns); !strings.HasPrefix(got, "3 registry.example/app:hotfix ") {
		t.Errorf("the Deployment is %s, want 3 replicas and the hotfix image:\n%s", got, s.shown())
	}
}

// Without a user who can answer, there is no prompt.
func TestLiveNeverAsks(t *testing.T) {
	c := shared.Cluster(t)
	ns, set := inConflict(t, c)
	before := webOf(t, c, ns)
	text, err := os.ReadFile(set)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		env, args []string
		typed     string
	}{
		"--no-input":       {args: []string{"-f", set, "--no-input"}},
		"CI":               {args: []string{"-f", set}, env: []string{"CI=true"}},
		"json":             {args: []string{"-f", set, "-o", "json"}},
		"stream":           {args: []string{"-f", set, "-o", "stream"}},
		"dry run":          {args: []string{"-f", set, "--dry-run=server"}},
		"a typed manifest": {args: []string{"-f", "-"}, typed: string(text) + "\x04"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sit(t, c.KubeconfigPath, tt.env, append([]string{"apply", "-n", ns}, tt.args...)...)
			if tt.typed != "" {
				s.types(t, tt.typed)
			}
			s.ends(t, 1)
			if shown := s.shown(); strings.Contains(shown, asks) || !strings.Contains(shown, "conflict") {
				t.Errorf("want a conflict and no prompt in the output:\n%s", shown)
			}
			if now := webOf(t, c, ns); now != before {
				t.Errorf("the Deployment changed from %s to %s", before, now)
			}
		})
	}
}

// A rollback in a terminal shows its changes and asks. With -o json it shows nothing before the
// answer, so it does not ask.
func TestRollbackAsks(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	for _, version := range []string{"1", "2"} {
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=web", "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, version))).Ends(t, 0)
	}
	back := []string{"sets", "rollback", "web", "-n", ns}
	s := sit(t, c.KubeconfigPath, nil, append(back, "-o", "json")...)
	s.sees(t, "-o json never prompts")
	s.ends(t, 1)
	for _, step := range []struct {
		answer, value string
		status        int
	}{{"n", "2", 1}, {"y", "1", 0}} {
		s := sit(t, c.KubeconfigPath, nil, back...)
		s.sees(t, "Roll back?")
		s.types(t, step.answer+"\n")
		s.ends(t, step.status)
		if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != step.value {
			t.Errorf("after the answer %s, the value is %s", step.answer, got)
		}
	}
}
