package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

type health int

const (
	away health = iota
	starting
	ready
)

// availability finds out whether the server is reachable, and waits until it is. Only one goroutine
// asks the server; the others wait for its result.
type availability struct {
	limit   time.Duration
	ask     func(context.Context) (health, error)
	report  func(object.Ref, error, time.Duration, time.Duration)
	outages *outages
	// drop closes idle connections, which may be dead.
	drop func()

	mu sync.Mutex
	// probe is the latest probe of the server, sent because a request had no response.
	probe  *probe
	search *search
	// since holds the time at which the server became unreachable; zero while it is reachable.
	since    time.Time
	seen     time.Time
	answered time.Time
	// gone holds the final error, which ends all waiting. It is set once an outage has lasted
	// longer than the limit.
	gone *UnreachableError
}

// probe is one check of the server's health. Concurrent requests share its result, which is valid
// once done is closed.
type probe struct {
	began time.Time
	done  chan struct{}
	away  bool
	why   error
}

type search struct {
	began       time.Time
	done        chan struct{}
	wasAway     bool
	interrupted bool
}

const (
	// fresh is how long the server is assumed to be reachable after it was last found reachable.
	fresh = time.Second
	// settling is how long a server that is reachable again may take to become ready. After that,
	// requests are sent anyway, and their errors show what is wrong.
	settling = 10 * time.Second
)

func (o *availability) wait(ctx context.Context) error {
	for {
		o.mu.Lock()
		s, gone := o.search, o.gone
		o.mu.Unlock()
		switch {
		case gone != nil:
			return gone
		case s == nil:
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.done:
		}
	}
}

type found struct {
	wasAway bool
	// first is set for the first caller that learns of the failure. A broken connection fails many
	// requests but is reported only once.
	first bool
}

// check finds out why a request got no response: because of the request, or because of the server.
// It returns once the server is reachable, or with the final error.
func (o *availability) check(ctx context.Context, err error) (found, error) {
	since, cause := time.Now(), CauseOf(err)
	silent, stalled := errors.AsType[*stalledError](err)
	if stalled {
		since = silent.since
	}
	o.mu.Lock()
	if o.limit <= 0 && stalled && o.gone == nil {
		o.gone = &UnreachableError{For: time.Since(since), Err: cause}
	}
	s := o.search
	switch {
	case o.gone != nil:
		defer o.mu.Unlock()
		return found{}, o.gone
	case o.limit <= 0:
		defer o.mu.Unlock()
		return found{}, &UnreachableError{Err: cause}
	case s == nil && time.Since(o.seen) < fresh:
		defer o.mu.Unlock()
		return found{}, nil
	case s != nil:
		o.mu.Unlock()
		if err := o.wait(ctx); err != nil {
			return found{}, err
		}
		if s.interrupted {
			return o.check(ctx, err)
		}
		return found{wasAway: s.wasAway}, nil
	}
	s = &search{began: time.Now(), done: make(chan struct{})}
	o.search = s
	if o.since.IsZero() {
		o.since = since
	}
	began := o.since
	o.mu.Unlock()

	err = o.waitForServer(ctx, s, began)
	s.interrupted = err != nil && !errors.As(err, new(*UnreachableError))
	o.end(err)
	if s.wasAway {
		o.outages.end(err == nil)
	}
	close(s.done)
	return found{wasAway: s.wasAway, first: true}, err
}

func (o *availability) isServing(ctx context.Context) bool {
	o.mu.Lock()
	known := time.Since(o.seen) < fresh
	o.mu.Unlock()
	if known {
		return true
	}
	health, _ := o.ask(ctx)
	if health == ready {
		o.mu.Lock()
		o.seen = time.Now()
		o.mu.Unlock()
	}
	return health == ready
}

// end records the result of a search for the server. If the search was interrupted, the outage
// continues with the next search, unless a request has been answered since the interrupted search
// began.
func (o *availability) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil || o.answered.After(o.search.began) {
		o.since = time.Time{}
	}
	if err == nil {
		o.seen = time.Now()
	}
	o.search = nil
	errors.As(err, &o.gone)
}

func (o *availability) askIn(ctx context.Context, left time.Duration) (health, error) {
	ctx, cancel := context.WithTimeout(ctx, max(left, time.Second))
	defer cancel()
	return o.ask(ctx)
}

func (o *availability) answer() {
	o.mu.Lock()
	o.answered = time.Now()
	searching := o.search != nil
	if !searching {
		o.since = time.Time{}
	}
	o.mu.Unlock()
	if !searching {
		o.outages.answered()
	}
}

// waitForServer returns when the server is ready again. A server that comes back accepts requests before it
// has read its RBAC rules, so the run waits for readiness, but only for the time settling: some servers are
// never ready. A server that was never away gets the request even while it is starting.
func (o *availability) waitForServer(ctx context.Context, s *search, began time.Time) error {
	pauses := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 100, Cap: 3 * time.Second}
	var back time.Time
	for {
		o.drop()
		health, err := o.askIn(ctx, min(o.stallAfter(), o.limit-time.Since(began)))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case health == ready, health == starting && !s.wasAway:
			return nil
		case health == away:
			back = time.Time{}
		case back.IsZero():
			back = time.Now()
		case time.Since(back) > settling:
			return nil
		}
		if !s.wasAway {
			o.outages.begin()
		}
		o.mu.Lock()
		s.wasAway = true
		o.mu.Unlock()
		left := o.limit - time.Since(began)
		if left <= 0 {
			return &UnreachableError{For: time.Since(began), Err: err}
		}
		in := min(pauses.Step(), left)
		o.report(object.Ref{}, err, in, left)
		if err := retry.For(ctx, in); err != nil {
			return err
		}
	}
}

// stallAfter returns how long a request may go without a response before the server is probed. The
// probe may take just as long.
func (o *availability) stallAfter() time.Duration {
	const longest, parts = 10 * time.Second, 4
	if o.limit <= 0 {
		return longest
	}
	return min(longest, o.limit/parts)
}

// listen watches a request that has no response yet. If the server does not answer a probe either,
// listen ends the request. If the server answers the probe, listen reports that the request is
// taking a long time (edge case 91), or ends the request if its Patience has run out. listen
// returns when ctx is done.
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

// awaitsCredentials reports that a request has been waiting for the credential program since the
// given time (began). If the wait lasts longer than --server-timeout, awaitsCredentials ends the
// request.
func (s *Sender) awaitsCredentials(began time.Time, end context.CancelCauseFunc) {
	if s.credentials == "" {
		return
	}
	if s.timeout > 0 && time.Since(began) >= s.hooks {
		end(&credentialsError{fmt.Errorf("%s returned no credentials within %s", s.credentials, s.hooks)})
		return
	}
	s.onCredentials(began)
}

// carry sends a request. While client-go waits for a credential program, it does not end a request
// whose context is done. So carry returns without waiting for such a request.
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

// losesPatience reports whether to end a request that has had no response since the given time. The
// request ends when the time limit of its Patience is reached. It also ends when it has had no
// response for half of that limit, so that it can be sent again in case it was lost.
func (s *Sender) losesPatience(r Request, since time.Time) bool {
	return s.budget.spentSince(failure{patience: r.Patience}, since) >= s.timeout || time.Since(since) >= s.timeout/2
}

// stalled reports whether the server is unreachable. If the server is reachable, it also returns
// what is wrong with the server.
func (o *availability) stalled(ctx context.Context) (bool, error) {
	o.mu.Lock()
	if o.gone != nil || o.search != nil && o.search.wasAway {
		defer o.mu.Unlock()
		return true, nil
	}
	p := o.probe
	if p == nil || time.Since(p.began) > max(fresh, o.stallAfter()/2) {
		p = &probe{began: time.Now(), done: make(chan struct{})}
		o.probe = p
		go func() {
			// Other requests use the same probe, which may take longer than this request.
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

// outages tracks whether an outage of the server was reported and is not over. It counts each
// search for an unreachable server, and each retried request that concerns no particular object.
// The outage is over only when the count is zero, so a response to an earlier request does not end
// it.
type outages struct {
	over func() // is called when the count is zero and the server has answered

	mu       sync.Mutex
	open     int
	reported bool
}

func (o *outages) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open++
	o.reported = true
}

func (o *outages) end(answered bool) {
	o.mu.Lock()
	o.open--
	o.mu.Unlock()
	if answered {
		o.answered()
	}
}

func (o *outages) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == 0 && o.reported {
		o.reported = false
		o.over()
	}
}
