// Package confirm_test tests the apply of a reviewed plan on a real control plane.
package confirm_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

var shared = e2etest.NewShared()

func TestMain(m *testing.M) { e2etest.Main(m, shared) }
