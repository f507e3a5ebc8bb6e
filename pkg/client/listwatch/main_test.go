package listwatch_test

import (
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain disables client-go's error handlers. One of them would sleep for decades of virtual
// time.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	m.Run()
}
