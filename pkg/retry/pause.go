// Package pause waits for a while, unless something ends that earlier.
package retry

import (
	"context"
	"time"
)

// For returns after that long, or as soon as ctx is done; then with its cause.
func For(ctx context.Context, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
