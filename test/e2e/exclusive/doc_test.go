// Package exclusive_test judges diff --exclusive and apply --exclusive with random histories of eight
// managers. The truth is the same manifest, created in another namespace. The judge reads objects and
// managed fields with code that shares nothing with the plugin.
package exclusive_test

import (
	"os"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// shared has no controllers, so that every write is the plugin's or the test's.
var shared = cluster.Shared{Options: cluster.Options{APIServerArgs: []string{
	"--disable-admission-plugins=ServiceAccount", // nothing creates service accounts
}}}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
