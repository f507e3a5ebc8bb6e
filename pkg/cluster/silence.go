package cluster

import (
	"context"
	"time"
)

// silence is how long nothing may be heard of a request before the server is
// asked whether it is there. A server that takes a request and never answers it
// would otherwise be waited for as long as the longest request may take.
func (o *outage) silence() time.Duration {
	const longest, parts = 10 * time.Second, 4
	if o.limit <= 0 {
		return longest
	}
	return min(longest, o.limit/parts)
}

// silentError ends a request of which nothing was heard because the server was
// away.
type silentError struct {
	found found
	// gone: the server was given up.
	gone error
}

func (e *silentError) Error() string { return errNoAnswerInTime.Error() }

// listen watches over a request that is under way, until ctx is done: where
// nothing is heard of it for a while, and the server turns out to be away, it is
// ended. A server that is there may take its time.
func (c *Client) listen(ctx context.Context, a *attempt, end context.CancelCauseFunc) {
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
		found, gone := c.outage.checkSilence(ctx, since)
		if ctx.Err() == nil && (gone != nil || found.wasAway) {
			end(&silentError{found, gone})
		}
	}
}

// checkSilence finds out, about a request that has been silent since then, whether
// the server is away; if so, it returns when the server is back or given up.
func (o *outage) checkSilence(ctx context.Context, since time.Time) (found, error) {
	if o.limit > 0 {
		return o.checkSince(ctx, since, errNoAnswerInTime)
	}
	health, err := o.ask(ctx)
	if health != away || ctx.Err() != nil {
		return found{}, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone == nil {
		o.gone = &UnreachableError{For: time.Since(since), Err: err}
	}
	return found{}, o.gone
}
