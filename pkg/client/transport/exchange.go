package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// exchange is a request with all of its attempts. After each attempt, answered decides what
// follows, with one method for each class of answer.
type exchange struct {
	*Sender
	r Request

	pauses wait.Backoff
	// failures counts the failed attempts since the server was last unreachable, and spent is the
	// time that they and the pauses took.
	failures int
	spent    time.Duration
	latest   *failure
	// lost means that an earlier attempt may have been carried out.
	lost bool
	// answer is the latest error that came from the server. It says more than a missing response.
	answer  error
	renewed bool
	// outage means that the failures were reported as an outage of the server.
	outage bool
}

// next is what follows an answer: the end of the request with err, another attempt at once, or one
// after a pause. report means that the user learns of that pause.
type next struct {
	end, atOnce, report bool
	class               Class
	err                 error
}

func ending(err error) next { return next{end: true, err: err} }

// answered decides what follows an attempt that took some time and returned err.
func (e *exchange) answered(ctx context.Context, took time.Duration, err error) next {
	e.failures++
	class := Classify(err, e.r)
	switch {
	case err == nil:
		return e.succeeded()
	case ctx.Err() != nil:
		return ending(context.Cause(ctx))
	case !e.renewed && e.mayRenew(err):
		e.renewed = true
		e.r.wrote.Store(false)
		return next{atOnce: true}
	case class != Final && e.r.ahead():
		return e.early(ctx)
	}
	if e.latest != nil {
		e.spent += took
	}
	switch class {
	case Unexplained:
		return e.unexplained(ctx, err)
	case Lost:
		return e.unanswered(ctx, err)
	case Busy:
		return e.busy(err)
	case Final:
	}
	return e.final(err)
}

func (e *exchange) succeeded() next {
	if e.latest != nil {
		e.budget.over(*e.latest)
	}
	return ending(nil)
}

// early handles the failure of a prefetch. The fault may have passed by the time the response is
// needed.
func (e *exchange) early(ctx context.Context) next {
	if err := untilAsked(ctx, e.r); err != nil {
		return ending(err)
	}
	e.failures = 0
	return next{atOnce: true}
}

// unexplained retries once without reporting it, and then until the server is healthy.
func (e *exchange) unexplained(ctx context.Context, err error) next {
	e.lost = e.lost || e.r.wrote.Load() // A gateway may have forwarded it.
	if e.failures > 1 && e.availability.isServing(ctx) {
		return ending(explain(err)) // The server is healthy, so the request is at fault.
	}
	return next{class: Unexplained, err: err, report: e.failures > 1}
}

// unanswered waits for the server if that is unreachable. The request was then not at fault, so it
// starts anew.
func (e *exchange) unanswered(ctx context.Context, err error) next {
	e.lost = e.lost || e.r.wrote.Load()
	found, gone := e.availability.check(ctx, err)
	if gone != nil {
		return ending(gone)
	}
	if found.wasAway {
		e.spent, e.failures, e.pauses, e.answer = 0, 0, backoff(), nil
		return next{atOnce: true}
	}
	report := e.failures > 1 || found.first || errors.Is(err, context.DeadlineExceeded)
	return next{class: Lost, err: CauseOf(err), report: report}
}

func (e *exchange) busy(err error) next {
	code := StatusOf(err).Code
	e.lost = e.lost || code == http.StatusBadGateway || code == http.StatusGatewayTimeout
	e.r.wrote.Store(false)
	return next{class: Busy, err: err, report: true}
}

func (e *exchange) final(err error) next {
	if e.lost && e.r.Creates && apierrors.IsConflict(err) {
		return ending(&underwayError{err})
	}
	return ending(explain(err))
}

// pause waits before the next attempt, for as long as the server asks. It returns an error if there
// is no time left for another attempt.
func (e *exchange) pause(ctx context.Context, n next, asked time.Duration) error {
	e.latest = &failure{kind: e.r.Ref.GVK, code: StatusOf(n.err).Code}
	if asked > 0 {
		n.err = fmt.Errorf("%w; the server asks clients to wait %s", n.err, asked.Round(time.Second))
	}
	if n.class != Lost {
		e.answer = n.err
	}
	in, left := e.pauses.Step(), e.timeLeft(n.err)
	if in > left {
		if e.answer != nil && errors.Is(n.err, ErrNoAnswerInTime) {
			return e.gaveUp(e.answer, Busy)
		}
		return e.gaveUp(n.err, n.class)
	}
	in = min(max(in, asked), left)
	if n.report {
		e.report(n, in, left)
	}
	e.spent += in
	return retry.For(ctx, in)
}

// timeLeft returns how much longer the latest failure is retried.
func (e *exchange) timeLeft(err error) time.Duration {
	most := e.timeout
	if OfWebhook(err) {
		most = e.hooks
	}
	left := most - max(e.spent, e.budget.spent(*e.latest))
	if e.r.Patience != "" {
		left = min(left, e.timeout-e.budget.spent(failure{patience: e.r.Patience}))
	}
	return left
}

func (e *exchange) report(n next, in, left time.Duration) {
	if !e.outage && e.r.Ref == (object.Ref{}) {
		e.outage = true
		e.outages.begin()
	}
	if n.class == Unexplained {
		left = 0 // It is retried until the server is healthy.
	}
	e.onRetry(e.r.Ref, n.err, in, left)
}

// close ends the outage that the exchange has reported.
func (e *exchange) close(ctx context.Context, err error) {
	if e.outage {
		e.outages.end(ctx.Err() == nil && !object.IsUnanswered(err))
	}
}

// The pauses are random, so that requests that failed together are not retried together.
func backoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 100, Cap: 5 * time.Second}
}

func (s *Sender) gaveUp(err error, class Class) error {
	switch status := StatusOf(err); {
	case class == Lost:
		return NoAnswer(err)
	case OfWebhook(err):
		return explain(err)
	case status.Code == http.StatusTooManyRequests, status.Code >= http.StatusInternalServerError:
		return &busyError{err: explain(err), tried: s.timeout}
	default:
		return explain(err)
	}
}
