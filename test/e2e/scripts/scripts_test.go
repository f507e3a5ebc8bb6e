package scripts_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
	"github.com/k8sconnect/kubectl-k8sconnect/test/reportjudge"
)

// shared is the cluster of all scripts.
var shared = cluster.Shared{Options: cluster.Options{Nodes: 1, AuditLog: "audit.log"}}

type testMain struct{ m *testing.M }

func (t testMain) Run() int {
	plugin.HeedSignals()
	return shared.Main(reportjudge.Runner{M: t.m, Shared: &shared})
}

func TestMain(m *testing.M) {
	testscript.Main(testMain{m}, map[string]func(){
		"kubectl-k8sconnect":          plugin.Main,
		"kubectl_complete-k8sconnect": plugin.Main, // kubectl's completion program
	})
}

// Scripts in testdata/full run only in the second circle: further rows of a matrix, or stories that
// a cheaper test covers.
func TestScript(t *testing.T) {
	c := shared.Cluster(t)
	all := []string{"testdata", filepath.Join("testdata", "full")}
	for _, dir := range all[:circle.Of(1, 2, 2)] {
		testscript.Run(t, testscript.Params{
			Dir:                 dir,
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
			Setup:               func(env *testscript.Env) error { return setup(t.Context(), env, c) },
			Cmds:                commands(),
			Condition:           func(cond string) (bool, error) { return condition(t.Context(), c, cond) },
		})
	}
}

// commands are the scripts' commands in addition to testscript's.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"status":     status,
		"eventually": eventually,
		"like":       like,
		"outage":     outage,
		"cleanup":    cleanup,
	}
}

// cleanup runs a command when the script ends, also if it fails: a broken API or webhook that stays
// behind would fail the scripts after it.
//
//	cleanup kubectl delete apiservice v1.broken.example.com --ignore-not-found
func cleanup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: cleanup COMMAND [ARG…]")
	}
	ts.Defer(func() {
		if err := ts.Exec(args[0], args[1:]...); err != nil {
			ts.Logf("cleanup: %v", err)
		}
	})
}

// condition is what a script may check before it continues, since servers differ:
//
//	[!serves:apps/v1/deployments] skip
func condition(ctx context.Context, c *cluster.Cluster, cond string) (bool, error) {
	kind, ok := strings.CutPrefix(cond, "serves:")
	groupVersion, resource := path.Split(kind)
	if !ok || groupVersion == "" || resource == "" {
		return false, fmt.Errorf("no condition %q", cond)
	}
	args := []string{"get", "--raw", "/apis/" + strings.TrimSuffix(groupVersion, "/"), "--kubeconfig", c.KubeconfigPath}
	out, err := exec.CommandContext(ctx, c.Binary("kubectl"), args...).Output()
	if err != nil {
		return false, err
	}
	return strings.Contains(string(out), `"name":"`+resource+`"`), nil
}

// setup gives a script its namespace and its tools.
func setup(ctx context.Context, env *testscript.Env, c *cluster.Cluster) error {
	ns := "e2e-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	kubectl := c.Binary("kubectl")
	env.Values[badLineKey{}] = &badLine{cluster: c}
	env.Setenv("NS", ns)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("KUBECONFIG", c.KubeconfigPath)
	ours, _, _ := strings.Cut(env.Getenv("PATH"), string(os.PathListSeparator))
	env.Setenv("TOOLS", filepath.Dir(kubectl)+string(os.PathListSeparator)+ours) // kubectl and the plugin, and nothing else from the machine
	env.Setenv("PATH", filepath.Dir(kubectl)+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("GOGC", os.Getenv("GOGC"))
	env.Setenv(reportjudge.Folder, os.Getenv(reportjudge.Folder))
	crds, err := filepath.Abs(filepath.Join("..", "..", "..", "charts", "k8sconnect", "files"))
	if err != nil {
		return err
	}
	env.Setenv("CRDS", crds)
	if err := c.CreateNamespace(ctx, ns); err != nil {
		return err
	}
	env.Defer(func() { c.DeleteNamespace(ns) })
	return name(env.WorkDir, ns)
}

// name replaces $NS by the namespace in a script's files.
func name(dir, ns string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "$NS") {
			continue // a folder, or no $NS
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "$NS", ns)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// status runs a command and checks its exit status, which distinguishes the verbs' three
// answers:
//
//	status 1 kubectl-k8sconnect diff -f web.yaml
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		coded, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = coded.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// eventually repeats a command until its standard output matches, for what a
// controller does in its own time:
//
//	eventually 'True' kubectl get deploy web -o jsonpath={.status…}
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually PATTERN COMMAND [ARG…]")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	const patience = 60 * time.Second
	var out string
	if !cluster.Until(patience, func() bool {
		err = ts.Exec(args[1], args[2:]...)
		out = ts.ReadFile("stdout")
		return err == nil && pattern.MatchString(out)
	}) {
		ts.Fatalf("after %s, output still does not match %s: %s %v", patience, args[0], strings.TrimSpace(out), err)
	}
}
