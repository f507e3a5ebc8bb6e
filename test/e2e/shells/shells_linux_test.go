// Package shells_test presses Tab in real shells.
package shells_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/terminal"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kubectl-k8sconnect": plugin.Main, completion.Program: plugin.Main})
}

const manifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "registry.example/web:1", env: [{name: A=B, value: x}]}
      - {name: log-shipper, image: "registry.example/log:1"}
---
apiVersion: shop.example/v1
kind: Offer
metadata: {name: spring, annotations: {k8s.io/a b: x}}
spec: {"k8s:odd=1": {size: 1}, "it's \"$HOME\"": {size: 2}}
`

// kubeconfig has a credential program that asks only if it can, like many that open a browser or read a
// password. The folder shows whether it was called, and whether it could have asked.
const kubeconfig = `apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: "https://127.0.0.1:1"}}]
users:
- name: it
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: sh
      args: [-c, 'touch called; if [ -t 0 ]; then touch asked; fi; exit 1']
      interactiveMode: IfAvailable
`

// escapes are the sequences with which a shell colours and redraws its line.
var escapes = regexp.MustCompile("\x1b(\\[[0-9;?]*[A-Za-z]|[()].|\\][^\a]*\a|.)|\r")

// A word that Tab completes reaches the plugin as the path, however the user quotes it: with backslashes, in
// quotes, or with nothing but its beginning. The paths have brackets, quotes, colons, spaces and equals signs.
func TestTabs(t *testing.T) {
	const containers = `deployment.apps/web:.spec.template.spec.containers`
	type row struct{ keys, want string }
	rows := []row{
		{"apply -f web.yaml --take=deployment.apps/web:.spec.repl\t", "--take=deployment.apps/web:.spec.replicas"},
		{"apply -f web.yaml --yield deployment.apps/web:.spec.repl\t", "deployment.apps/web:.spec.replicas"},
		{"apply -f web.yaml --take=" + containers + `\[name=\"a` + "\t", "--take=" + containers + `[name="app"]`},
		{"apply -f web.yaml --take=" + containers + `\[` + "\ta\t.im\t", "--take=" + containers + `[name="app"].image`},
		{"apply -f web.yaml --take=" + containers + `\[name=\"log-shipper\"\].im` + "\t", "--take=" + containers + `[name="log-shipper"].image`},
		{"apply -f web.yaml --take " + containers + `\[name=\"log-shipper\"\].im` + "\t", containers + `[name="log-shipper"].image`},
		{"apply -f web.yaml --take='" + containers + `[name="app"].im` + "\t", "--take=" + containers + `[name="app"].image`},
		{"apply -f web.yaml --take '" + containers + `[name="app"].im` + "\t", containers + `[name="app"].image`},
		{"apply -f web.yaml --take=" + containers + `\[name=\"app\"\].env\[name=\"A` + "\t", "--take=" + containers + `[name="app"].env[name="A=B"]`},
		{"apply -f web.yaml --take=" + containers + `\[name=\"app\"\].im` + "\t", "--take=" + containers + `[name="app"].image`},
		{`apply -f web.yaml --take=offer.shop.example/spring:.spec\[\"k8` + "\t", `--take=offer.shop.example/spring:.spec["k8s:odd=1"]`},
		{`apply -f web.yaml --take=offer.shop.example/spring:.spec\[\"k8s:odd=1\"\].s` + "\t", `--take=offer.shop.example/spring:.spec["k8s:odd=1"].size`},
		{`apply -f web.yaml --take=offer.shop.example/spring:.spec\[\"it` + "\t", `--take=offer.shop.example/spring:.spec["it's \"$HOME\""]`},
		{`apply -f web.yaml --take=offer.shop.example/spring:.metadata.annotations\[` + "\t", `--take=offer.shop.example/spring:.metadata.annotations["k8s.io/a b"]`},
		{"apply -f my\\ sh\t", "my shop"},
		{"apply --filename=my\\ sh\t", "--filename=my shop"},
		{"-n shop unrea\t", "unready"},
		{"owners deploy/w\t", "deploy/w"}, // The server does not answer.
		{"owners deploy/w -l 'app in (touch ran)' --pat\t", "--path"},
		{"owners deploy/w -l \"app in (touch ran)\" --pat\t", "--path"},
	}
	for _, tt := range []struct {
		name, shell string
		args        []string
		setup       string
	}{
		{"bash", "bash", []string{"--norc", "--noprofile", "-i"}, "source <(kubectl-k8sconnect completion bash); PS1='$ '"},
		{"bash with fewer ends of words", "bash", []string{"--norc", "--noprofile", "-i"}, "source <(kubectl-k8sconnect completion bash); COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]/}; PS1='$ '"},
		{"zsh", "zsh", []string{"-f", "-i"}, "bindkey -e; unsetopt beep; autoload -U compinit; compinit -D -u; source <(kubectl-k8sconnect completion zsh); PS1='$ '"},
		// fish completes only programs that exist.
		{"fish", "fish", []string{"--no-config", "--private", "-i"}, "function kubectl; end; kubectl-k8sconnect completion fish | source; function fish_prompt; echo '$ '; end; set -g fish_autosuggestion_enabled 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := exec.LookPath(tt.shell); err != nil {
				t.Skip(tt.shell + " is not installed")
			}
			s, dir := open(t, tt.shell, tt.args)
			s.enters(t, tt.setup)
			for _, program := range []string{"kubectl-k8sconnect ", "kubectl k8sconnect "} {
				for _, r := range rows {
					// Once Tab has completed the line, it becomes the arguments of printf.
					got := s.enters(t, program+r.keys+"\x01printf '<%s>\\n' \x05")
					lines := strings.Split(strings.TrimSpace(escapes.ReplaceAllString(got, "")), "\n")
					// A shell can add a slash to a folder, or not.
					if last := strings.Replace(strings.TrimSpace(lines[len(lines)-1]), "shop/>", "shop>", 1); last != "<"+r.want+">" {
						t.Errorf("%s%q: want <%s>, got\n%s", program, r.keys, r.want, got)
					}
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("Tab ran the words of a value")
			}
			if _, err := os.Stat(filepath.Join(dir, "called")); err != nil {
				t.Errorf("the credential program was not called: %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "asked")); err == nil {
				t.Error("a credential program can ask for a password while Tab waits")
			}
		})
	}
}

// A completion program that is called with the terminal as its input, as by kubectl or fish, lets no
// credential program ask for a password either.
func TestTabAsksForNothing(t *testing.T) {
	s, dir := open(t, completion.Program, []string{"owners", "deploy/w"})
	e2etest.Until(t, "the completion ends", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.text.String(), "Completion ended")
	})
	if _, err := os.Stat(filepath.Join(dir, "called")); err != nil {
		t.Errorf("the credential program was not called: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "asked")); err == nil {
		t.Error("the credential program can ask for a password")
	}
}

// shell is an interactive shell at a terminal.
type shell struct {
	screen *os.File
	mu     sync.Mutex
	text   strings.Builder
	seen   int
}

func open(t *testing.T, program string, args []string) (s *shell, dir string) {
	t.Helper()
	screen, tty, err := terminal.Open(1000)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, text := range map[string]string{"web.yaml": manifests, "kubeconfig": kubeconfig} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "my shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=dumb", "HOME="+dir, "KUBECONFIG=kubeconfig", "INPUTRC="+os.DevNull)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	s = &shell{screen: screen}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(s, screen)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = screen.Close()
		<-done
	})
	return s, dir
}

// Write adds what the terminal shows.
func (s *shell) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// enters types keys and a newline, and returns what is shown until the shell has run the line.
func (s *shell) enters(t *testing.T, keys string) string {
	t.Helper()
	if _, err := s.screen.WriteString(keys + "; printf 'en%dd\\n' 2\n"); err != nil {
		t.Fatal(err)
	}
	shown := ""
	e2etest.Until(t, "the shell runs "+keys, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		rest := s.text.String()[s.seen:]
		i := strings.Index(rest, "en2d")
		if i < 0 {
			return false
		}
		shown = rest[:i]
		s.seen += i + len("en2d")
		return true
	})
	return shown
}
