// Package e2e_test runs the plugin against a real control plane. Its stories are in test/e2e/scripts.
package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

var shared = e2etest.NewShared()

func TestMain(m *testing.M) { e2etest.Main(m, shared) }

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
