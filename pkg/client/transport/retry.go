package transport

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Do sends one request by send, as often as it takes: when there is a slot for it, with
// retries if the obstacle may pass, and after waiting if the server is away. The request
// must be safe to repeat, because an answer that is lost may belong to a request that was
// carried out.
func (s *Sender) Do(ctx context.Context, r Request, send func(context.Context) error) error {
	r.wrote = new(atomic.Bool)
	err := s.repeat(ctx, r, send)
	if err != nil && r.wrote.Load() && (unanswered(err) || ctx.Err() != nil && errors.Is(err, context.Cause(ctx))) {
		return &underwayError{err}
	}
	return err
}

func (s *Sender) repeat(ctx context.Context, r Request, send func(context.Context) error) error {
	var (
		pauses = backoff()
		spent  time.Duration // on trying again
		failed *failure      // what the latest failure was
		lost   bool          // a try may have been carried out
		said   error         // what the server answered last
	)
	if r.ahead() && s.Narrow() {
		if err := untilAsked(ctx, r); err != nil { // It would keep what is needed from being sent.
			return err
		}
	}
	for failures := 1; ; failures++ {
		asked, took, err := s.try(ctx, r, send)
		if err == nil {
			if failed != nil {
				s.budget.over(*failed)
			}
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if Classify(err, r) != Final && r.ahead() {
			if err := untilAsked(ctx, r); err != nil {
				return err
			}
			failures = 0 // The fault of that time may have passed.
			continue
		}
		if failed != nil {
			spent += took
		}
		class, tell := Classify(err, r), failures > 1
		switch class {
		case Unexplained:
			lost = lost || r.wrote.Load() // A gateway may have passed it on.
			if failures > 1 && s.availability.there(ctx) {
				return explain(err) // The server is well, so the request is at fault.
			}
		case Lost:
			lost = lost || r.wrote.Load()
			found, gone := s.missed(ctx, err)
			if gone != nil {
				return gone
			}
			// A failure that outlasted the time concerns this request alone.
			tell = tell || found.first || errors.Is(err, context.DeadlineExceeded)
			err = CauseOf(err)
			if found.wasAway { // That was not about this request.
				spent, failures, pauses, said = 0, 0, backoff(), nil
				continue
			}
		case Busy:
			code := codeOf(err)
			lost = lost || code == http.StatusBadGateway || code == http.StatusGatewayTimeout // As above.
			tell = true
			r.wrote.Store(false)
		default:
			if lost && r.Creates && apierrors.IsConflict(err) {
				return &underwayError{err}
			}
			return explain(err)
		}
		failed = &failure{kind: r.Ref.GVK, code: codeOf(err)}
		if asked > 0 {
			err = &wishError{err: err, wait: asked}
		}
		if class != Lost {
			said = err
		}
		in := pauses.Step()
		most := s.timeout
		if OfWebhook(err) {
			most = s.hooks
		}
		left := most - max(spent, s.budget.spent(*failed))
		if r.Patience != "" {
			left = min(left, s.timeout-s.budget.spent(failure{patience: r.Patience}))
		}
		if in > left && said != nil && errors.Is(err, ErrNoAnswerInTime) { // This try was cut off, and says less.
			return s.gaveUp(said, Busy)
		}
		if in > left {
			return s.gaveUp(err, class)
		}
		in = min(max(in, asked), left)
		if tell && class == Unexplained {
			s.onRetry(r.Ref, err, in, 0) // The wait ends as soon as the server is well.
		} else if tell {
			s.onRetry(r.Ref, err, in, left)
		}
		spent += in
		if err := retry.For(ctx, in); err != nil {
			return err
		}
	}
}

// untilAsked returns when the answer is needed.
func untilAsked(ctx context.Context, r Request) error {
	select {
	case <-r.Asked:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// try sends the request once, when it is its turn. asked is the pause that the
// server asks for.
func (s *Sender) try(ctx context.Context, r Request, send func(context.Context) error) (asked, took time.Duration, err error) {
	if s.slots.Acquire(ctx, 1) != nil {
		return 0, 0, context.Cause(ctx)
	}
	defer s.slots.Release(1)
	if err := s.availability.wait(ctx); err != nil {
		return 0, 0, err
	}
	if ctx.Err() != nil { // The caller has given up.
		return 0, 0, context.Cause(ctx)
	}
	a := &attempt{about: r.About, quiet: r.Quiet, unguarded: isUnguarded(ctx), wrote: r.wrote}
	if a.about == nil && r.Ref.Name != "" {
		a.about = []object.Ref{r.Ref}
	}
	ctx, done := toTheEnd(withAttempt(ctx, a), a)
	defer done()
	if s.attempt > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.attempt)
		defer cancel()
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go s.listen(ctx, r, a, end)
	began := time.Now()
	err = s.carry(ctx, a, send)
	took = time.Since(began)
	if ended := context.Cause(ctx); err != nil && (errors.As(ended, new(*stalledError)) || errors.As(ended, new(*lostError)) || errors.As(ended, new(*credentialsError))) {
		err = ended
	}
	if _, sent := a.quietSince(); !sent && ctx.Err() == nil {
		err = asUnsent(err)
	}
	if a.said != nil && foreign(StatusOf(err)) { // client-go did not read it.
		err = &apierrors.StatusError{ErrStatus: *a.said}
	}
	if err == nil || Classify(err, r) != Lost {
		s.availability.answer()
	}
	if _, sent := a.quietSince(); sent && r.Patience != "" && (err == nil || Classify(err, r) == Final) {
		s.budget.over(failure{patience: r.Patience})
	}
	return a.retryAfter, took, err
}

// asUnsent marks the error of a request that never reached the connection.
func asUnsent(err error) error {
	if errors.As(err, new(*refusedError)) {
		return err
	}
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return &credentialsError{unsent.Err}
	}
	return err
}

// missed finds out why a request got no answer.
func (s *Sender) missed(ctx context.Context, err error) (found, error) {
	if silent, ok := errors.AsType[*stalledError](err); ok {
		return s.availability.checkStall(ctx, silent.since)
	}
	return s.availability.check(ctx, CauseOf(err))
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
func (s *Sender) gaveUp(err error, class Class) error {
	switch status := StatusOf(err); {
	case class == Lost:
		return &noAnswerError{err}
	case OfWebhook(err):
		return explain(err)
	case status.Code == http.StatusTooManyRequests, status.Code >= http.StatusInternalServerError:
		return &busyError{err: explain(err), tried: s.timeout}
	default:
		return explain(err)
	}
}

// OfWebhook reports whether the server is well and refuses because a webhook that it has
// to ask does not answer. This is the only case that is recognized by its text: the
// Status is like that of any internal error.
func OfWebhook(err error) bool { return ofWebhook(StatusOf(err)) }

func ofWebhook(s metav1.Status) bool {
	return s.Reason == metav1.StatusReasonInternalError && strings.Contains(s.Message, "failed calling webhook \"")
}

// Once sends a request by send without retrying: for a diagnosis of a cluster, a missing
// answer is an answer.
func (s *Sender) Once(ctx context.Context, r Request, send func(context.Context) error) error {
	_, _, err := s.try(ctx, r, send)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case Classify(err, r) == Lost:
		return &noAnswerError{CauseOf(err)}
	default:
		return explain(err)
	}
}
