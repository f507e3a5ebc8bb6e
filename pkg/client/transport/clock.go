package transport

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Clock has the API server's time: that of its answers' Date, which net/http writes into
// every one of them. Times in a cluster's objects can be compared only with that. By the
// clock of a laptop that is an hour off, every lease has expired, and each controller is
// dead. The zero value is this machine's clock.
type Clock struct{ ahead atomic.Int64 }

// tolerance is the difference that counts as none: a Date has whole seconds, and an
// answer is in transit for a moment.
const tolerance = 5 * time.Second

// Now is the time of the server, or this machine's before the first answer.
func (c *Clock) Now() time.Time {
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// hear records the Date of an answer to a request that was sent and answered at these
// times by this machine's clock.
func (c *Clock) hear(header http.Header, sent, answered time.Time) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return
	}
	var ahead time.Duration
	switch end := date.Add(time.Second); {
	case date.After(answered.Add(tolerance)):
		ahead = date.Sub(answered)
	case end.Before(sent.Add(-tolerance)):
		ahead = end.Sub(sent)
	}
	// The former offset stays unless it was wrong: two times from this clock have to be
	// as far apart as they really are.
	if known := time.Duration(c.ahead.Load()); (ahead - known).Abs() > tolerance {
		c.ahead.Store(int64(ahead))
	}
}
