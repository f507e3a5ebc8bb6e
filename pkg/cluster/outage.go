package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// classifyTransport classifies errors that are no answer of the server. What can
// not get better by waiting is told apart; all others mean that it is away.
func classifyTransport(err error) class {
	var (
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		invalid     x509.CertificateInvalidError
		certificate *tls.CertificateVerificationError
		name        *net.DNSError
		syntax      *json.SyntaxError
		kind        *NoKindError
	)
	switch {
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid), errors.As(err, &certificate),
		errors.As(err, &kind), errors.As(err, &syntax),
		errors.As(err, &name) && name.IsNotFound:
		return final
	default:
		return away
	}
}

// outage is a time in which the server is away. One goroutine looks for it, the
// others wait for what that one finds.
type outage struct {
	mu sync.Mutex
	// over is closed when the outage ends; nil while there is none.
	over chan struct{}
	// lost is how an outage ended that outlasted our patience: for good.
	lost error
}

// wait returns when the server is not known to be away, with an error if it was
// given up.
func (o *outage) wait(ctx context.Context) error {
	for {
		o.mu.Lock()
		over, lost := o.over, o.lost
		o.mu.Unlock()
		if lost != nil || over == nil {
			return lost
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over:
		}
	}
}

// begin makes the caller the one who looks for the server. It returns false if
// somebody else does already.
func (o *outage) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over != nil {
		return false
	}
	o.over = make(chan struct{})
	return true
}

func (o *outage) end(lost error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.over)
	o.over, o.lost = nil, lost
}

// await waits for a server that did not answer. cause is how that showed.
func (c *Client) await(ctx context.Context, cause error) error {
	if !c.outage.begin() {
		return c.outage.wait(ctx)
	}
	err := c.look(ctx, cause)
	var unreachable *UnreachableError
	if errors.As(err, &unreachable) {
		c.outage.end(err)
		return err
	}
	// Found, or we were interrupted: then the others look for themselves.
	c.outage.end(nil)
	return err
}

// look probes for the server until it answers or the time is over.
func (c *Client) look(ctx context.Context, cause error) error {
	began := c.clock.Now()
	backoff := backoff()
	backoff.Cap = 2 * time.Second
	for {
		elapsed := c.clock.Since(began)
		pause := min(backoff.Step(), c.timeout-elapsed)
		if pause <= 0 {
			return &UnreachableError{For: c.timeout, Err: cause}
		}
		c.onRetry(object.Ref{}, cause, pause, c.timeout-elapsed)
		if err := c.sleep(ctx, pause); err != nil {
			return err
		}
		err := c.probe(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			return nil
		}
		cause = err
	}
}

// probe asks once whether the server is ready for requests. A server that
// refuses the question to us is there.
func (c *Client) probe(ctx context.Context) error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := send(ctx, c.rest.Get().AbsPath("/readyz"))
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if class := classify(err); class == final {
			return nil
		}
	}
	return err
}
