package transport

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// health describes the server as a whole.
type health int

const (
	away health = iota
	starting
	ready
)

// availability finds out whether the server is away, and waits until it is back. One
// goroutine looks, the others wait for its result.
type availability struct {
	limit time.Duration
	ask   func(context.Context) (health, error)
	tell  func(object.Ref, error, time.Duration, time.Duration)

	// drop closes idle connections: a dead one must not be used to ask the server.
	drop func()

	mu sync.Mutex
	// probe is the latest question on behalf of a silent request.
	probe *probe
	// search is in progress; nil if there is none.
	search *search
	// since is when the server was first found away; zero while it is there.
	since time.Time
	// seen is when it was last found there.
	seen time.Time
	// answered is when any request last got an answer.
	answered time.Time
	// gone ends all waiting: an outage that lasted longer than limit.
	gone *UnreachableError
}

// probe is one question to the server, shared by all who have it. away, and why the server is
// not well, are valid when done is closed.
type probe struct {
	began time.Time
	done  chan struct{}
	away  bool
	why   error
}

// search is one look for the server.
type search struct {
	began time.Time
	// since is when it found the server away; zero while it has not.
	since   time.Time
	done    chan struct{}
	wasAway bool
	// interrupted: it was given up before it found anything.
	interrupted bool
}

const (
	// fresh is how long a server that was found is assumed to be there.
	fresh = time.Second
	// settling is how long a server that came back may take to get ready. If it takes
	// longer, the requests themselves show what is wrong.
	settling = 10 * time.Second
)

// wait returns when the server is not known to be away, with an error if it was
// given up.
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

// found is the result of looking into a request without an answer.
type found struct {
	// wasAway: the server was not there, and now it is.
	wasAway bool
	// first: this caller learns it first. A connection that breaks fails many requests,
	// and is reported once.
	first bool
}

// check finds out, after a request without answer, whether it was about the
// request or about the server. It returns when the server is there; or with an
// error, which is the end.
func (o *availability) check(ctx context.Context, cause error) (found, error) {
	return o.checkSince(ctx, time.Now(), cause)
}

// checkSince is check for a server that has been silent since then.
func (o *availability) checkSince(ctx context.Context, since time.Time, cause error) (found, error) {
	if o.limit <= 0 {
		return found{}, &UnreachableError{Err: cause}
	}
	o.mu.Lock()
	if o.gone != nil {
		defer o.mu.Unlock()
		return found{}, o.gone
	}
	if time.Since(o.seen) < fresh && o.search == nil {
		defer o.mu.Unlock()
		return found{}, nil
	}
	s := o.search
	if s != nil {
		o.mu.Unlock()
		if err := o.wait(ctx); err != nil {
			return found{}, err
		}
		if s.interrupted {
			return o.checkSince(ctx, since, cause)
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

	var err error
	s.wasAway, err = o.waitForServer(ctx, began)
	s.interrupted = err != nil && !errors.As(err, new(*UnreachableError))
	o.end(err)
	close(s.done)
	return found{wasAway: s.wasAway, first: true}, err
}

// there reports whether the server is well, by its own account.
func (o *availability) there(ctx context.Context) bool {
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

// end records the result of a search. A search that was interrupted has none; the next
// continues where it was, unless another request got an answer in the meantime.
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

// askIn asks within the remaining time, and gives a distant server time for an answer
// even if none remains.
func (o *availability) askIn(ctx context.Context, left time.Duration) (health, error) {
	const least = time.Second
	ctx, cancel := context.WithTimeout(ctx, max(left, least))
	defer cancel()
	return o.ask(ctx)
}

// foundAway records that the current search found the server away.
func (o *availability) foundAway() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.search.since.IsZero() {
		o.search.since = time.Now()
	}
}

// answer records that a request got an answer.
func (o *availability) answer() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered = time.Now()
	if o.search == nil {
		o.since = time.Time{}
	}
}

// waitForServer asks for the server until it is there or the time is over.
func (o *availability) waitForServer(ctx context.Context, began time.Time) (wasAway bool, err error) {
	pauses := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 100, Cap: 3 * time.Second}
	var back time.Time
	for {
		o.drop()
		health, err := o.askIn(ctx, min(o.stallAfter(), o.limit-time.Since(began)))
		switch {
		case ctx.Err() != nil:
			return wasAway, context.Cause(ctx)
		case health == ready, health == starting && !wasAway:
			return wasAway, nil
		case health == away:
			back = time.Time{}
		case back.IsZero():
			back = time.Now()
		case time.Since(back) > settling:
			return wasAway, nil
		}
		wasAway = true
		o.foundAway()
		left := o.limit - time.Since(began)
		if left <= 0 {
			return wasAway, &UnreachableError{For: time.Since(began), Err: err}
		}
		in := min(pauses.Step(), left)
		o.tell(object.Ref{}, err, in, left)
		if err := retry.For(ctx, in); err != nil {
			return wasAway, err
		}
	}
}

// stallAfter bounds how long nothing may be heard of a request before the server is
// asked whether it is there, and then of that: a server that takes requests and
// never answers would otherwise be waited for as long as the longest request may
// take.
func (o *availability) stallAfter() time.Duration {
	const longest, parts = 10 * time.Second, 4
	if o.limit <= 0 {
		return longest
	}
	return min(longest, o.limit/parts)
}
