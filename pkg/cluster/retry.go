package cluster

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// do sends one request by call, as often as it takes: at the pace the server
// allows, again when what kept it from succeeding may pass, and after waiting
// when the server is away. ref is what the request is about.
func (c *Client) do(ctx context.Context, ref object.Ref, call func(context.Context) error) error {
	ctx = withRef(ctx, ref)
	backoff := backoff()
	odd, lost := 0, 0
	var began time.Time
	for {
		if err := c.outage.wait(ctx); err != nil {
			return err
		}
		err := c.paced(ctx, call)
		if ctx.Err() != nil && err != nil {
			return context.Cause(ctx)
		}
		class := classify(err)
		if class == unexplained {
			if odd++; odd > maxUnexplained {
				class = final
			}
		}
		switch class {
		case final:
			if !began.IsZero() && err == nil {
				c.budget.recovered()
			}
			return hinted(err)
		case away:
			if began.IsZero() {
				began = c.clock.Now()
			}
			// A server that is there, and yet never answers this request.
			if lost++; lost > maxLost && c.clock.Since(began) > c.timeout {
				return &UnreachableError{For: c.clock.Since(began), Err: err}
			}
			if err := c.await(ctx, err); err != nil {
				return err
			}
			continue
		default:
		}
		now := c.clock.Now()
		if began.IsZero() {
			began = now
		}
		pause := max(backoff.Step(), retryAfter(err))
		left := min(c.timeout-now.Sub(began), c.budget.left(now))
		if pause > left {
			return hinted(err)
		}
		c.onRetry(ref, err, pause, left)
		if err := c.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// paced makes one call when it is its turn.
func (c *Client) paced(ctx context.Context, call func(context.Context) error) error {
	if err := c.pace.acquire(ctx); err != nil {
		return err
	}
	began := c.clock.Now()
	err := call(ctx)
	c.pace.release(c.clock.Since(began), classify(err) == transient)
	return err
}

func (c *Client) sleep(ctx context.Context, pause time.Duration) error {
	timer := c.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
		return nil
	}
}

// backoff is the pause before a request is tried again: growing, and never the
// same for two requests that failed together.
func backoff() wait.Backoff {
	return wait.Backoff{
		Duration: 100 * time.Millisecond,
		Factor:   2,
		Jitter:   0.5,
		Steps:    100,
		Cap:      5 * time.Second,
	}
}

// budget is the time that a run may spend on trying again without anything
// getting better. It begins with the first failure, and anew when a request that
// was tried again succeeds: so a thousand objects behind one dead webhook cost
// the time of one, and a server that is busy now and then costs nothing.
type budget struct {
	limit time.Duration

	mu    sync.Mutex
	since time.Time
}

func (b *budget) left(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		b.since = now
	}
	return b.limit - now.Sub(b.since)
}

func (b *budget) recovered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = time.Time{}
}

// class is what to do about the end of a request.
type class int

const (
	// final: it succeeded, or it will not by trying again.
	final class = iota
	// transient: the server says, or it is known, that it may pass.
	transient
	// unexplained: an internal error of which the server does not say what it is.
	// A change of etcd's leader comes so, and so does a manifest that server-side
	// apply can not merge (k/k#113482).
	unexplained
	// away: there was no answer.
	away
)

// maxLost is how often an answer may be lost before time counts against the
// request alone.
const maxLost = 3

// maxUnexplained is how often an unexplained error is tried again.
const maxUnexplained = 3

// classify tells by type, code and reason, never by text.
func classify(err error) class {
	if err == nil || errors.Is(err, context.Canceled) {
		return final
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return classifyTransport(err)
	}
	s := status.Status()
	switch s.Reason {
	case metav1.StatusReasonTooManyRequests, metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout,
		metav1.StatusReasonServiceUnavailable, metav1.StatusReasonInternalError:
		return transient
	case metav1.StatusReasonConflict:
		// Usage of a quota is counted with an optimistic lock (k/k#67761).
		if s.Details != nil && s.Details.Kind == "resourcequotas" {
			return transient
		}
		return final
	default:
	}
	switch s.Code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return transient
	case http.StatusInternalServerError:
		return unexplained
	default:
		return final
	}
}

// retryAfter returns what the server asks to wait.
func retryAfter(err error) time.Duration {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second
	}
	return 0
}
