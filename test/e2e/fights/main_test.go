// Package fights_test holds the verb fights against a real API server. The judge is its audit log,
// read by code that shares none with the plugin.
package fights_test

import (
	"os"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
)

// asPlugin makes this test binary the plugin.
const asPlugin = "FIGHTS_TEST_PLUGIN"

var shared cluster.Shared

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		os.Args[0] = "kubectl-k8sconnect"
		plugin.Main()
	}
	os.Exit(shared.Main(m))
}
