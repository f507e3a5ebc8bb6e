// Package sweep_test applies one object for each field of each kind that the API server serves, with
// each value that the server may read otherwise than it was sent: left out, null, zero, empty, the
// default, another spelling. It judges the plugin by the API server's audit log and by the live
// objects, with code that shares nothing with the plugin.
package sweep_test

import (
	"os"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// shared has no controllers, so that every write is the plugin's or the test's.
var shared = cluster.Shared{Options: cluster.Options{AuditLog: "audit.log", APIServerArgs: []string{
	"--disable-admission-plugins=ServiceAccount", // nothing creates service accounts
}}}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
