// Package fights_test checks the verb fights on a real API server. The judge is the audit log; the
// code that reads it shares nothing with the plugin.
package fights_test

import (
	"os"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
)

// asPlugin makes this test binary act as the plugin.
const asPlugin = "FIGHTS_TEST_PLUGIN"

var shared cluster.Shared

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		os.Args[0] = "kubectl-k8sconnect"
		plugin.Main()
	}
	os.Exit(shared.Main(m))
}
