// Package e2etest has what the tests of the plugin on a real control plane share: runs of the plugin,
// kubectl, proxies, and small sets.
package e2etest

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
	"github.com/k8sconnect/kubectl-k8sconnect/test/reportjudge"
)

// NewShared returns the cluster of all tests of a package that do not disrupt it.
func NewShared() *cluster.Shared {
	return &cluster.Shared{Options: cluster.Options{Nodes: 1, AuditLog: "audit.log"}}
}

// Main runs a package's tests, and compares the reports of the plugin's runs with the audit log. The
// plugin's programs are the test program itself.
func Main(m *testing.M, shared *cluster.Shared) {
	testscript.Main(runner{m, shared}, map[string]func(){
		"kubectl-k8sconnect":          plugin.Main,
		"kubectl_complete-k8sconnect": plugin.Main, // kubectl's completion program
	})
}

type runner struct {
	m      *testing.M
	shared *cluster.Shared
}

func (r runner) Run() int {
	plugin.HeedSignals()
	return r.shared.Main(reportjudge.Runner{M: r.m, Shared: r.shared, Elsewhere: true})
}
