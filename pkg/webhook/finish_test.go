package webhook

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a runner that takes some time to end.
type slow struct {
	takes time.Duration
	ended bool
}

func (s *slow) Run(ctx context.Context) error {
	<-ctx.Done()
	time.Sleep(s.takes)
	s.ended = true
	return nil
}

// When the Lease is lost, work in progress is finished within a bounded time.
func TestFinish(t *testing.T) {
	for _, takes := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s, r := &Server{}, &slow{takes: takes}
			ctx, stop := context.WithCancel(t.Context())
			go func() { _ = s.run(r)(ctx) }()
			synctest.Wait()
			stop()
			began := time.Now()
			s.finish(stopTimeout)
			if took := time.Since(began); took != min(takes, stopTimeout) || r.ended != (takes < stopTimeout) {
				t.Errorf("it took %v, ended: %v", took, r.ended)
			}
			time.Sleep(takes)
		})
	}
}
