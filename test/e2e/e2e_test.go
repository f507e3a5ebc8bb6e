// Package e2e_test runs the plugin against a real control plane. Its stories are in test/e2e/scripts.
package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
	"github.com/k8sconnect/kubectl-k8sconnect/test/reportjudge"
)

// shared is the cluster of all tests that do not disrupt it.
var shared = cluster.Shared{Options: cluster.Options{Nodes: 1, AuditLog: "audit.log"}}

type testMain struct{ m *testing.M }

func (t testMain) Run() int {
	plugin.HeedSignals()
	return shared.Main(reportjudge.Runner{M: t.m, Shared: &shared, Elsewhere: true})
}

func TestMain(m *testing.M) {
	testscript.Main(testMain{m}, map[string]func(){
		"kubectl-k8sconnect":          plugin.Main,
		"kubectl_complete-k8sconnect": plugin.Main, // kubectl's completion program
	})
}

// corpus returns the folder of real manifests, or "" where there is none.
func corpus() string {
	dir := os.Getenv("CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "INDEX.md")); err != nil {
		return ""
	}
	return dir
}
