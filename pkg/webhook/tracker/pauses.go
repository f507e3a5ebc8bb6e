package tracker

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

func newPauses() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 100, Cap: 30 * time.Second}
}

// newAbsences returns the pauses while the server does not answer.
func newAbsences() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 100, Cap: time.Second}
}

// newComparisons returns the pauses between attempts to compare all records, each of which reads
// all of them.
func newComparisons() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.3, Steps: 100, Cap: 5 * time.Minute}
}

const (
	// refusedFor is the longest pause for a kind that may not be watched.
	refusedFor = 5 * time.Minute
	// refusedFirst is the first pause: an API server that has just started forbids everything until
	// it has read the RBAC rules.
	refusedFirst = time.Second
)

func newRefusals() wait.Backoff {
	return wait.Backoff{Duration: refusedFirst, Factor: 2, Jitter: 0.2, Steps: 100, Cap: refusedFor}
}

// sleepUnless sleeps, and reports whether it was woken.
func sleepUnless(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	case <-wake:
		return true
	}
}

// permissionsLabel is on the roles that decide what may be tracked: the chart's, and those that are
// aggregated to it.
const permissionsLabel = "k8sconnect.io/aggregate-to-webhook"

// permissions wakes the followers that wait because of a refusal.
type permissions struct {
	mu      sync.Mutex
	changed chan struct{}
}

// wait returns a channel that is closed when permissions may have changed.
func (p *permissions) wait() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

func (p *permissions) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}
