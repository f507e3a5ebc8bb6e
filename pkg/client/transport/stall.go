package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// listen watches a request in progress until ctx is done. If neither the request nor the
// server is heard of for a while, it ends the request. A server that is there may take
// its time, and that is reported (edge case 91), unless the request's Patience is over.
func (s *Sender) listen(ctx context.Context, r Request, a *attempt, end context.CancelCauseFunc) {
	most, within := s.availability.stallAfter(), max(s.attempt, s.rest.Client.Timeout)
	if r.Patience != "" {
		within = min(within, s.timeout)
	}
	began := time.Now()
	for in := most; retry.For(ctx, in) == nil; {
		in = most
		since, sent := a.quietSince()
		if !sent {
			s.awaitsCredentials(began, end)
			continue
		}
		if quiet := time.Since(since); quiet < most {
			in = most - quiet
			continue
		}
		switch away, why := s.availability.stalled(ctx); {
		case ctx.Err() != nil:
		case away:
			end(&stalledError{since})
		case r.Patience != "" && s.losesPatience(r, since):
			end(Broken(ErrNoAnswerInTime))
		case !r.Quiet && !r.ahead():
			s.onStall(r.Ref, since, within, why)
		}
	}
}

// awaitsCredentials reports that a request has not been sent since then, because a program has
// not given credentials, and ends it when the time for the server is over.
func (s *Sender) awaitsCredentials(began time.Time, end context.CancelCauseFunc) {
	if s.credentials == "" {
		return
	}
	if s.timeout > 0 && time.Since(began) >= s.hooks {
		end(&credentialsError{fmt.Errorf("%s gave no credentials in %s", s.credentials, s.hooks)})
		return
	}
	s.onCredentials(began)
}

// carry sends a request. client-go waits for a program that gives credentials whatever the
// context says, so a request that ends before it was sent is left to itself.
func (s *Sender) carry(ctx context.Context, a *attempt, send func(context.Context) error) error {
	if s.credentials == "" {
		return send(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- send(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if _, sent := a.quietSince(); sent {
		return <-done
	}
	return context.Cause(ctx)
}

// losesPatience reports whether a request that has been silent since then is to be ended:
// for good, once the patience that it shares is over, and to be sent again in the middle of
// that time, since it may have been lost where the server is well.
func (s *Sender) losesPatience(r Request, since time.Time) bool {
	return s.budget.spentSince(failure{patience: r.Patience}, since) >= s.timeout || time.Since(since) >= s.timeout/2
}

// stalled asks whether the server is away, and what is wrong if it is not well.
func (o *availability) stalled(ctx context.Context) (bool, error) {
	o.mu.Lock()
	if o.gone != nil || o.search != nil && !o.search.since.IsZero() {
		defer o.mu.Unlock()
		return true, nil
	}
	p := o.probe
	if p == nil || time.Since(p.began) > max(fresh, o.stallAfter()/2) {
		p = &probe{began: time.Now(), done: make(chan struct{})}
		o.probe = p
		go func() {
			// It serves other requests too, and may outlive this one.
			health, err := o.askIn(context.WithoutCancel(ctx), o.stallAfter())
			p.away, p.why = health == away, err
			close(p.done)
		}()
	}
	o.mu.Unlock()
	select {
	case <-p.done:
		return p.away, p.why
	case <-ctx.Done():
		return false, nil
	}
}

// checkStall is check for a request that has been silent since then.
func (o *availability) checkStall(ctx context.Context, since time.Time) (found, error) {
	if o.limit > 0 {
		return o.checkSince(ctx, since, ErrNoAnswerInTime)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone == nil {
		o.gone = &UnreachableError{For: time.Since(since), Err: ErrNoAnswerInTime}
	}
	return found{}, o.gone
}
