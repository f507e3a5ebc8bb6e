package certificates_test

import (
	"os"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

var shared cluster.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
