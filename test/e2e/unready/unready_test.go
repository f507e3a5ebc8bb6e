// Package unready_test asks why objects do not get ready on a real control plane. Each file in
// testdata is one story. The status of Pods is written for a kubelet, since the nodes that kwok
// plays have none.
//
// A script finds NS, a namespace of its own, and kubectl, and has three more commands:
//
//	why TYPE/NAME CODE…   waits until the causes are these, in this order, prints
//	                      them, and runs what each says to do next
//	hangs TYPE/NAME CODE…
//	                      waits for it with the plugin until these causes are on the
//	                      screen while the wait goes on, and once more when it is
//	                      interrupted
//	eventually PATTERN COMMAND…
//	                      runs a command until its output matches
package unready_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	door "github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/commandtest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
)

// patience allows for a busy machine.
const patience = 10 * time.Minute

func TestMain(m *testing.M) {
	plugin.HeedSignals()
	testscript.Main(m, map[string]func(){"kubectl-k8sconnect": plugin.Main})
}

func TestUnready(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: 2})
	all, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	most := []string{"testdata/containers.txtar", "testdata/schedule.txtar", "testdata/volumes.txtar"}
	testscript.Run(t, testscript.Params{
		Files:               circle.Of(most, all, all),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setup(t.Context(), env, c) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"why":        func(ts *testscript.TestScript, neg bool, args []string) { why(t.Context(), ts, args) },
			"hangs":      func(ts *testscript.TestScript, neg bool, args []string) { hangs(t.Context(), ts, args) },
			"eventually": eventually,
		},
	})
}

// setup creates a script's namespace, and inserts its name into the files.
func setup(ctx context.Context, env *testscript.Env, c *cluster.Cluster) error {
	ns := "unready-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	kubectl := c.Binary("kubectl")
	env.Setenv("NS", ns)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("KUBECONFIG", c.KubeconfigPath)
	env.Setenv("GOGC", os.Getenv("GOGC"))
	env.Setenv("PATH", filepath.Dir(kubectl)+string(os.PathListSeparator)+env.Getenv("PATH"))
	if out, err := exec.CommandContext(ctx, kubectl, "--kubeconfig", c.KubeconfigPath, "create", "namespace", ns).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(env.WorkDir, "*.*[hl]"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "$NS", ns)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// why diagnoses an object until the codes are as expected, and runs each cause's next command.
func why(ctx context.Context, ts *testscript.TestScript, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: why TYPE/NAME CODE…")
	}
	var causes []event.Cause
	if !cluster.Until(patience, func() bool {
		causes = diagnose(ctx, ts, args[0])
		return slices.Equal(codes(causes), args[1:])
	}) {
		show(os.Stderr, causes)
		ts.Fatalf("causes %v, want %v", codes(causes), args[1:])
	}
	show(ts.Stdout(), causes)
	for _, c := range causes {
		if strings.HasPrefix(c.Next, "kubectl ") {
			tryNext(ctx, ts, commandtest.Plain(c.Next))
		}
	}
}

// hangs waits for an object that does not become ready.
func hangs(ctx context.Context, ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: hangs TYPE/NAME CODE…")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stdout, stderr screen
	cmd := exec.CommandContext(ctx, "kubectl-k8sconnect", "wait", args[0], "-n", ts.Getenv("NS"), "--stuck-after=1s", "--timeout=30m", "--logs=3")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "HOME="+ts.Getenv("HOME"))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for _, code := range args[1:] {
		for !stderr.shows("\n    " + code + ": ") {
			select {
			case err := <-ended:
				ts.Fatalf("the wait ended (%v) before it reported %s\n%s%s", err, code, &stderr, &stdout)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	err := <-ended
	if code := cmd.ProcessState.ExitCode(); code != 2 {
		ts.Fatalf("an interrupted wait ended with %v\n%s%s", err, &stderr, &stdout)
	}
	for _, code := range args[1:] {
		if !stdout.shows("\n    " + code + ": ") {
			ts.Fatalf("the result does not contain %s\n%s%s", code, &stderr, &stdout)
		}
	}
	ts.Logf("%s", &stderr)
}

// screen is a program's output so far.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *screen) shows(text string) bool { return strings.Contains(s.String(), text) }

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// tryNext runs a printed command. Only logs may fail, because there is no kubelet.
func tryNext(ctx context.Context, ts *testscript.TestScript, command string) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "PATH="+ts.Getenv("PATH"), "HOME="+ts.Getenv("HOME"))
	out, err := cmd.CombinedOutput()
	ts.Logf("$ %s\n%s", command, out)
	noKubelet := strings.Contains(command, " logs ") && strings.Contains(string(out), "/containerLogs/")
	canI := strings.Contains(command, " auth can-i ") && strings.HasPrefix(string(out), "no")
	if err != nil && !noKubelet && !canI {
		ts.Fatalf("%s: %v", command, err)
	}
}

// diagnose reads an object by its name for kubectl, and returns the causes why it is not ready.
func diagnose(ctx context.Context, ts *testscript.TestScript, object string) []event.Cause {
	words := []string{"get", object, "-n", ts.Getenv("NS"), "-o", "json", "--show-managed-fields", "--kubeconfig", ts.Getenv("KUBECONFIG")}
	out, err := exec.CommandContext(ctx, filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], "kubectl"), words...).Output()
	ts.Check(err)
	var live unstructured.Unstructured
	ts.Check(live.UnmarshalJSON(out))
	config, err := clientcmd.BuildConfigFromFlags("", ts.Getenv("KUBECONFIG"))
	ts.Check(err)
	config.Impersonate.UserName = ts.Getenv("AS")
	reader, err := door.New(door.Options{REST: config})
	ts.Check(err)
	facts, err := unready.Gather(ctx, reader.NoRetry(), &live)
	ts.Check(err)
	return unready.Diagnose(facts)
}

func codes(causes []event.Cause) []string {
	out := []string{}
	for _, c := range causes {
		out = append(out, c.Code)
	}
	return out
}

func show(w io.Writer, causes []event.Cause) {
	for _, c := range causes {
		_, _ = fmt.Fprintf(w, "%s: %s\n", c.Code, c.Message)
		for _, line := range c.Evidence {
			_, _ = fmt.Fprintf(w, "  %s\n", line)
		}
		for _, field := range [][2]string{{"next", commandtest.Plain(c.Next)}, {"risk", c.Risk}, {"blocked by", c.BlockedBy.String()}} {
			if field[1] != "" && field[1] != "/" {
				_, _ = fmt.Fprintf(w, "  %s: %s\n", field[0], field[1])
			}
		}
	}
}

func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually PATTERN COMMAND [ARG…]")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	if !cluster.Until(patience, func() bool {
		err = ts.Exec(args[1], args[2:]...)
		return err == nil && pattern.MatchString(ts.ReadFile("stdout"))
	}) {
		ts.Fatalf("after %s, output still does not match %s: %v", patience, args[0], err)
	}
}
