// Package sets_test tests sets of objects on a real control plane: their lock, prune, parents and history.
package sets_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

var shared = e2etest.NewShared()

func TestMain(m *testing.M) { e2etest.Main(m, shared) }
