// Package server runs the plugin, and the client below it, while the API server
// or the way to it misbehaves: stopped, slow, busy, cut off. What stories with a
// healthy server tell is one folder up.
package server_test

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// manager is who the tests are to the server.
const manager = "k8sconnect"

// shared is the cluster of all tests that do not break theirs.
var shared = cluster.Shared{Options: cluster.Options{Nodes: 1}}

type testMain struct{ m *testing.M }

func (t testMain) Run() int { return shared.Main(t.m) }

func TestMain(m *testing.M) {
	testscript.Main(testMain{m}, map[string]func(){"kubectl-k8sconnect": plugin})
}

// plugin is the main function of the plugin, run by this binary under its name.
func plugin() {
	os.Exit(cli.Main(cli.UntilStopped(context.Background()), os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
