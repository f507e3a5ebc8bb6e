package transport

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Do calls send once there is a slot. It calls send again if the failure may be transient, and
// after waiting for an unreachable server. send must be safe to repeat: if the response was lost,
// the request may have been carried out.
func (s *Sender) Do(ctx context.Context, r Request, send func(context.Context) error) error {
	r.wrote = new(atomic.Bool)
	err := s.repeat(ctx, r, send)
	if err != nil && r.wrote.Load() && (object.IsUnanswered(err) || ctx.Err() != nil && errors.Is(err, context.Cause(ctx))) {
		return &underwayError{err}
	}
	return err
}

func (s *Sender) repeat(ctx context.Context, r Request, send func(context.Context) error) (err error) {
	e := &exchange{Sender: s, r: r, pauses: backoff()}
	defer func() { e.close(ctx, err) }()
	if r.ahead() && s.Narrow() {
		if err := untilAsked(ctx, r); err != nil { // A prefetch would delay needed requests.
			return err
		}
	}
	for {
		asked, took, err := s.try(ctx, r, send)
		next := e.answered(ctx, took, err)
		if next.end {
			return next.err
		}
		if next.atOnce {
			continue
		}
		if err := e.pause(ctx, next, asked); err != nil {
			return err
		}
	}
}

func untilAsked(ctx context.Context, r Request) error {
	select {
	case <-r.Asked:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Sender) try(ctx context.Context, r Request, send func(context.Context) error) (asked, took time.Duration, err error) {
	if s.slots.Acquire(ctx, 1) != nil {
		return 0, 0, context.Cause(ctx)
	}
	defer s.slots.Release(1)
	if err := s.availability.wait(ctx); err != nil {
		return 0, 0, err
	}
	if ctx.Err() != nil {
		return 0, 0, context.Cause(ctx)
	}
	a := &attempt{
		about: r.About, kind: r.Ref.GVK, quiet: r.Quiet, wrote: r.wrote,
		unguarded: ctx.Value(unguardedKey{}) != nil, deleting: ctx.Value(deletingKey{}) != nil,
	}
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
	if ended := context.Cause(ctx); err != nil && (is[*stalledError](ended) || is[*lostError](ended) || is[*credentialsError](ended)) {
		err = ended
	}
	if _, sent := a.quietSince(); !sent && ctx.Err() == nil {
		err = asUnsent(err)
	}
	if a.message != nil && foreign(StatusOf(err)) { // client-go dropped it.
		err = &apierrors.StatusError{ErrStatus: *a.message}
	}
	if err == nil || Classify(err, r) != Lost {
		s.availability.answer()
	}
	if _, sent := a.quietSince(); sent && r.Patience != "" && (err == nil || Classify(err, r) == Final) {
		s.budget.over(failure{patience: r.Patience})
	}
	return a.retryAfter, took, err
}

func asUnsent(err error) error {
	if unsent, ok := errors.AsType[*url.Error](err); ok && !is[*refusedError](err) {
		return &credentialsError{unsent.Err}
	}
	return err
}

// OfWebhook reports whether a request failed only because a webhook did not answer. Only the
// message reveals this, because the Status is that of any internal error.
func OfWebhook(err error) bool {
	s := StatusOf(err)
	return s.Reason == metav1.StatusReasonInternalError && strings.Contains(s.Message, "failed calling webhook \"")
}

// Once sends a request without retries, except with a new credential.
func (s *Sender) Once(ctx context.Context, r Request, send func(context.Context) error) error {
	_, _, err := s.try(ctx, r, send)
	if s.mayRenew(err) {
		_, _, err = s.try(ctx, r, send)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case Classify(err, r) == Lost:
		return NoAnswer(CauseOf(err))
	default:
		return explain(err)
	}
}

// Failures with the same kind and status code, or with the same Patience, count as one.
type failure struct {
	kind     schema.GroupVersionKind
	code     int32
	patience string
}

// retryBudget limits how long one failure is retried without a success in between. So a thousand
// objects behind one dead webhook take no longer than one object. A server that is only
// occasionally busy uses up none of the time.
type retryBudget struct {
	limit time.Duration

	mu   sync.Mutex
	open map[failure]span
}

type span struct{ began, latest time.Time }

// spent returns how long the failure has lasted across all requests. A failure is over if no
// request has run into it for longer than the limit.
func (t *retryBudget) spent(what failure) time.Duration { return t.spentSince(what, time.Now()) }

func (t *retryBudget) spentSince(what failure, since time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	s, known := t.open[what]
	if !known || now.Sub(s.latest) > t.limit || s.began.After(since) {
		s.began = since
	}
	s.latest = now
	t.open[what] = s
	return now.Sub(s.began)
}

func (t *retryBudget) over(what failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, what)
}

type attempt struct {
	about []object.Ref
	kind  schema.GroupVersionKind
	// reads is set once the request was sent, if it is a GET.
	reads      bool
	quiet      bool
	deleting   bool
	retryAfter time.Duration
	message    *metav1.Status
	// heard holds the Unix time in nanoseconds at which the request was sent or the latest part of
	// its response arrived. It is 0 while the request waits for credentials.
	heard     atomic.Int64
	wrote     *atomic.Bool
	unguarded bool
}

func (a *attempt) receivedNow() { a.heard.Store(time.Now().UnixNano()) }

func (a *attempt) quietSince() (since time.Time, sent bool) {
	nanos := a.heard.Load()
	return time.Unix(0, nanos), nanos != 0
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

func attemptOf(ctx context.Context) *attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a
	}
	return &attempt{}
}

// lastWord is how long a write in progress may continue after the run is stopped. Nearly every
// write is answered by then, so the user learns what happened.
const lastWord = 3 * time.Second

// toTheEnd returns a context for one attempt. It ends with ctx, or after a further delay (lastWord)
// if a write has been sent. The caller must release it.
func toTheEnd(ctx context.Context, a *attempt) (context.Context, context.CancelFunc) {
	longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if a.wrote == nil || !a.wrote.Load() {
			end(context.Cause(ctx))
			return
		}
		late := time.AfterFunc(lastWord, func() { end(context.Cause(ctx)) })
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, func() {
		stop()
		end(nil)
	}
}
