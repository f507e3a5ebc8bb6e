package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// request is what there is to know of a request besides how to send it.
type request struct {
	// ref is what it is about, without a name where it is about a kind.
	ref object.Ref
	// about are the objects that the server's warnings concern; ref alone if nil.
	about []object.Ref
	// guarded requests are bound to a resource version: that it is no longer
	// current is an answer.
	guarded bool
	// young requests are about a kind that was not served a moment ago. Where
	// several API servers share the work, some may be behind.
	young bool
	// quiet requests are ours alone: nobody wants to be warned about them.
	quiet bool
	// bulk requests take as long as the data that they move: their time tells
	// nothing about the server.
	bulk bool
	// wrote: it was sent to change something, and the server has not said that it
	// did not.
	wrote *atomic.Bool
}

// do sends one request by send, as often as it takes: at the pace the server
// allows, again when what kept it from succeeding may pass, and after waiting
// when the server is away. What is sent must do no harm when it is done twice,
// for an answer that is lost may belong to a request that was carried out.
func (c *Client) do(ctx context.Context, r request, send func(context.Context) error) error {
	r.wrote = new(atomic.Bool)
	err := c.repeat(ctx, r, send)
	if err != nil && r.wrote.Load() && (unanswered(err) || ctx.Err() != nil && errors.Is(err, context.Cause(ctx))) {
		return &underwayError{err}
	}
	return err
}

func (c *Client) repeat(ctx context.Context, r request, send func(context.Context) error) error {
	var (
		pauses = backoff()
		spent  time.Duration // on trying again
		failed *trouble      // what the latest failure was
	)
	for failures := 1; ; failures++ {
		asked, took, err := c.try(ctx, r, send)
		if err == nil {
			if failed != nil {
				c.troubles.over(*failed)
			}
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if failed != nil {
			spent += took
		}
		class, tell := classify(err, r), failures > 1
		switch class {
		case unexplained:
			if failures > 1 && c.outage.there(ctx) {
				return explain(err) // The server is well: it is the request.
			}
		case lost:
			found, gone := c.missed(ctx, err)
			if gone != nil {
				return gone
			}
			// One that was waited for to the end is nobody else's.
			tell = tell || found.first || errors.Is(err, context.DeadlineExceeded)
			err = causeOf(err)
			if found.wasAway { // That was not about this request.
				c.pace.restart()
				spent, failures, pauses = 0, 0, backoff()
				continue
			}
		case busy:
			tell = true
			r.wrote.Store(false)
		default:
			return explain(err)
		}
		failed = &trouble{kind: r.ref.GVK, code: codeOf(err)}
		if asked > 0 {
			err = &wishError{err: err, wait: asked}
		}
		pause := pauses.Step()
		left := min(c.timeout-spent, c.troubles.left(*failed))
		if pause > left {
			return c.gaveUp(err, class)
		}
		pause = min(max(pause, asked), left)
		if tell && class == unexplained {
			c.onRetry(r.ref, err, pause, 0) // As soon as the server is well, it ends.
		} else if tell {
			c.onRetry(r.ref, err, pause, left)
		}
		spent += pause
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// try sends the request once, when it is its turn. asked is the pause that the
// server asks for.
func (c *Client) try(ctx context.Context, r request, send func(context.Context) error) (asked, took time.Duration, err error) {
	if err := c.pace.acquire(ctx); err != nil {
		return 0, 0, err
	}
	said := nothing
	defer func() { c.pace.release(said, took) }()
	if err := c.outage.wait(ctx); err != nil {
		return 0, 0, err
	}
	if ctx.Err() != nil { // Nothing begins that nobody waits for.
		return 0, 0, context.Cause(ctx)
	}
	a := &attempt{about: r.about, quiet: r.quiet, wrote: r.wrote}
	if a.about == nil && r.ref.Name != "" {
		a.about = []object.Ref{r.ref}
	}
	ctx, done := toTheEnd(withAttempt(ctx, a), a)
	defer done()
	if c.attempt > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.attempt)
		defer cancel()
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go c.listen(ctx, r, a, end)
	began := time.Now()
	err = send(ctx)
	took = time.Since(began)
	if silent, ok := errors.AsType[*silentError](context.Cause(ctx)); ok && err != nil {
		err = silent
	}
	if _, sent := a.silentSince(); !sent && ctx.Err() == nil {
		err = asUnsent(err)
	}
	if err == nil || classify(err, r) != lost {
		c.outage.answer()
	}
	said = pressure(err, r)
	return a.retryAfter, took, err
}

// asUnsent tells apart the error of a request that never came to the connection.
func asUnsent(err error) error {
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return &credentialsError{unsent.Err}
	}
	return err
}

// missed finds out what it was about that a request got no answer.
func (c *Client) missed(ctx context.Context, err error) (found, error) {
	if silent, ok := errors.AsType[*silentError](err); ok {
		return c.outage.checkSilence(ctx, silent.since)
	}
	return c.outage.check(ctx, causeOf(err))
}

// sleep pauses, unless ctx ends before.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
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

// unanswered reports whether an error says no more than that no answer came.
func unanswered(err error) bool {
	var unreachable interface{ Unreachable() bool }
	return errors.As(err, &unreachable)
}

// gaveUp is the error of a request that failed until its time was over.
func (c *Client) gaveUp(err error, class class) error {
	switch s := statusOf(err); {
	case class == lost:
		return &noAnswerError{err}
	case ofWebhook(s):
		return explain(err)
	case s.Code == http.StatusTooManyRequests, s.Code >= http.StatusInternalServerError:
		return &busyError{err: explain(err), tried: c.timeout}
	default:
		return explain(err)
	}
}

// ofWebhook reports whether the server is well and refuses because a webhook that has
// to be asked does not answer. It is the one case that only words tell: such a Status
// is like that of any internal error.
func ofWebhook(s metav1.Status) bool {
	return s.Reason == metav1.StatusReasonInternalError && strings.Contains(s.Message, "failed calling webhook \"")
}
