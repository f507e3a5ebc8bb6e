package cluster

import (
	"context"
	"time"
)

// silence bounds how long nothing may be heard of a request before the server is
// asked whether it is there, and then of that: a server that takes requests and
// never answers would otherwise be waited for as long as the longest request may
// take.
func (o *outage) silence() time.Duration {
	const longest, parts = 10 * time.Second, 4
	if o.limit <= 0 {
		return longest
	}
	return min(longest, o.limit/parts)
}

// silentError ends a request of which nothing was heard since then, while the
// server did not answer another one either.
type silentError struct{ since time.Time }

func (e *silentError) Error() string { return errNoAnswerInTime.Error() }

// listen watches over a request that is under way, until ctx is done: where
// nothing is heard of it for a while, and nothing of the server either, it is
// ended. A server that is there may take its time, and that is told (edge case 91).
func (c *Client) listen(ctx context.Context, r request, a *attempt, end context.CancelCauseFunc) {
	most := c.outage.silence()
	for pause := most; sleep(ctx, pause) == nil; {
		pause = most
		since, sent := a.silentSince()
		if !sent {
			continue
		}
		if quiet := time.Since(since); quiet < most {
			pause = most - quiet
			continue
		}
		switch away := c.outage.silent(ctx); {
		case ctx.Err() != nil:
		case away:
			end(&silentError{since})
		case !r.quiet:
			c.onSilence(r.ref, since, max(c.attempt, c.rest.Client.Timeout))
		}
	}
}

// probe is one question to the server, for all who have it. away is there when
// done is closed.
type probe struct {
	began time.Time
	done  chan struct{}
	away  bool
}

// silent asks whether the server is away.
func (o *outage) silent(ctx context.Context) bool {
	o.mu.Lock()
	if o.gone != nil || o.search != nil && !o.search.since.IsZero() {
		defer o.mu.Unlock()
		return true
	}
	p := o.probe
	if p == nil || time.Since(p.began) > max(fresh, o.silence()/2) {
		p = &probe{began: time.Now(), done: make(chan struct{})}
		o.probe = p
		go func() {
			// It is not this request's alone, and may outlive it.
			health, _ := o.askIn(context.WithoutCancel(ctx), o.silence())
			p.away = health == away
			close(p.done)
		}()
	}
	o.mu.Unlock()
	select {
	case <-p.done:
		return p.away
	case <-ctx.Done():
		return false
	}
}

// checkSilence is check for a request of which nothing was heard since then.
func (o *outage) checkSilence(ctx context.Context, since time.Time) (found, error) {
	if o.limit > 0 {
		return o.checkSince(ctx, since, errNoAnswerInTime)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone == nil {
		o.gone = &UnreachableError{For: time.Since(since), Err: errNoAnswerInTime}
	}
	return found{}, o.gone
}
