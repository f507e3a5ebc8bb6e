package recorder_test

import (
	"fmt"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/recorder"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/heap"
)

// The queue's memory is bounded, however many objects change while nothing can be written (a
// million in the third circle). Dropped transitions are counted.
func TestSizeOfTheQueue(t *testing.T) {
	objects := circle.Of(30_000, 60_000, 1_000_000) // Half as many again as fit, or more.
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		free := make(chan struct{})
		d.misbehave(func(string) error { <-free; return nil })
		megabytes := func() float64 { return float64(heap.Reachable()) / 1e6 }
		before, most := megabytes(), 0.0
		for n := range objects {
			d.report(fmt.Sprint("o", n), "alice", taken("a", 0, 1))
			if (n+1)%10_000 == 0 {
				d.log.clear() // It is the test that keeps these.
				d.lines.clear()
			}
			if n+1 == 20_000 || n+1 == objects {
				most = max(most, megabytes()-before)
			}
		}
		t.Logf("%d objects: %.0f MB", objects, most)
		if most > 100 {
			t.Errorf("the queue holds %.0f MB", most)
		}
		close(free)
	})
}
