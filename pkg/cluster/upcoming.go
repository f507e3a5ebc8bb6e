package cluster

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/pause"
)

const (
	// unseenFor is how long a kind is waited for by somebody who cannot see whether
	// it is defined. A quiet server needs 10 to 60 ms.
	unseenFor = 2 * time.Second
	// mostDefinitions is how many definitions of a group are read in search of a kind.
	mostDefinitions = 10
)

// Upcoming waits for a kind that the server does not serve yet, where there is reason
// to: a definition of it is in the cluster, and the server takes a while from storing
// one to serving it (edge case 18, between two runs). It waits for as long as it would
// wait for the server itself, and calls tell first, with the definition.
//
// Without the right to read definitions it waits for a moment, and not at all if the
// name is nearly that of a kind which is served. The error is a *NoKindError if nothing
// says that the kind will come, or if it did not.
func (c *Client) Upcoming(ctx context.Context, gvk schema.GroupVersionKind, tell func(definition string)) (object.Kind, error) {
	kind, err := c.live(ctx, gvk)
	missing, ok := errors.AsType[*NoKindError](err)
	switch {
	case err == nil: // What is cached of all kinds lags behind.
		c.kinds.put(kind, true)
		return kind, nil
	case !ok:
		return kind, err
	}
	definition, err := c.definitionOf(ctx, gvk)
	switch {
	case ctx.Err() != nil:
		return kind, context.Cause(ctx)
	case request.Denied(err) && missing.Near == "":
		return c.Served(ctx, gvk, min(c.timeout, unseenFor))
	case err != nil, definition == "":
		return kind, missing
	}
	tell(definition)
	err = c.Established(ctx, definition)
	if refused, ok := errors.AsType[*NotEstablishedError](err); ok {
		c.kinds.setRefused(gvk, refused)
		return kind, missing
	}
	if err != nil {
		return kind, err
	}
	return c.Served(ctx, gvk, 0)
}

// Served waits until the server serves the kind: for as long as is given, or, where
// that is 0, as it would wait for the server itself. A definition that is Established
// is not yet served (apiextensions-apiserver#5; edge case 18): only asking for the
// kind tells.
func (c *Client) Served(ctx context.Context, gvk schema.GroupVersionKind, within time.Duration) (kind object.Kind, err error) {
	ended := until(ctx, cmp.Or(within, c.timeout), func() bool {
		kind, err = c.live(ctx, gvk)
		return !errors.As(err, new(*NoKindError)) && !errors.As(err, new(*UntoldKindError)) // Until its Pods are ready, an aggregated API cannot tell.
	})
	if err = cmp.Or(ended, err); err != nil {
		return object.Kind{}, err
	}
	c.kinds.put(kind, true)
	return kind, c.renew(ctx, gvk)
}

// until asks again and again, at growing pauses, until it is done or the time is over.
// The error is that ctx ended.
func until(ctx context.Context, within time.Duration, done func() bool) error {
	pauses := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 100, Cap: 2 * time.Second}
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
