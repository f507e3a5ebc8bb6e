package connection

import (
	"runtime"
	"testing"
)

func TestUserAgentOfAVersion(t *testing.T) {
	on := " (" + runtime.GOOS + "/" + runtime.GOARCH + ") "
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "(devel)": "devel", "v0.0.0-2026+dirty": "v0.0.0-2026+dirty"} {
		if got := userAgent(version, "apply"); got != "kubectl-k8sconnect/"+want+on+"apply" {
			t.Errorf("%s: %s", version, got)
		}
	}
}
