package tracker

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// permissionsLabel is on the roles that say what may be tracked: the chart's, and those
// that are aggregated to it.
const permissionsLabel = "k8sconnect.io/aggregate-to-webhook"

// permissions wakes the followers that wait because they were refused.
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

// permissionsMayChange wakes refused followers if this is a role that decides what may be
// tracked. Without it, a newly permitted kind would be found minutes later; retrying all
// of them more often would mean thousands of refusals an hour, in the audit log too.
func (f *follower) permissionsMayChange(o *metav1.PartialObjectMetadata) {
	if _, ok := o.Labels[permissionsLabel]; ok && f.resource.Group == "rbac.authorization.k8s.io" {
		f.permissions.wake()
	}
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
