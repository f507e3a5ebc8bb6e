// Package stuck_test tests the explanations of deletions that hang on a real control plane.
package stuck_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

var shared = e2etest.NewShared()

func TestMain(m *testing.M) { e2etest.Main(m, shared) }
