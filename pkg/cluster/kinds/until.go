package kinds

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/pause"
)

// until asks repeatedly, at growing intervals, until it is done or the time is over. It
// returns an error if ctx ended.
func until(ctx context.Context, within time.Duration, done func() bool) error {
	pauses := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.25, Jitter: 0.2, Steps: 100, Cap: 2 * time.Second}
	for began := time.Now(); !done(); {
		in := pauses.Step()
		if time.Since(began)+in > within {
			return nil
		}
		if err := pause.For(ctx, in); err != nil {
			return err
		}
	}
	return nil
}
