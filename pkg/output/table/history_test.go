package table

import (
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// A webhook that is down would look like one that saw no changes.
func TestStaleCoverageIsReported(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for stale, want := range map[bool]int{false: 1, true: 2} {
		got := format.Coverage(event.Coverage{Since: now.Add(-time.Hour), Until: now.Add(-10 * time.Minute), Stale: stale}, now)
		if len(got) != want || want == 2 && got[1] != "no progress recorded since 2026-01-05T11:50:00Z (10m ago); is the webhook running?" {
			t.Errorf("%t: %q", stale, got)
		}
	}
}
