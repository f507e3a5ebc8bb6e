// Package server_test runs the plugin and its client during failures of the API server and the
// network: stopped, slow, busy, disconnected. Stories with a healthy server are in the parent
// folder.
package server_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
)

// manager is the tests' field manager.
const manager = "k8sconnect"

// shared is the cluster of all tests that do not disrupt it.
var shared = cluster.Shared{Options: cluster.Options{Nodes: 1}}

type testMain struct{ m *testing.M }

func (t testMain) Run() int {
	plugin.HeedSignals()
	return shared.Main(t.m)
}

func TestMain(m *testing.M) {
	testscript.Main(testMain{m}, map[string]func(){"kubectl-k8sconnect": plugin.Main})
}
