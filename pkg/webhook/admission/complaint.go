package admission

import (
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// complaints is a rate-limited log of clients' errors: otherwise the sender of garbage would decide
// how long the log is. Metrics count all of them.
type complaints struct {
	log    logr.Logger
	rate   *rate.Limiter
	unsaid atomic.Int64
}

// Strays returns a writer that logs lines at a limited rate: those of Go's HTTP server, which
// writes one for each connection that does not speak TLS.
func Strays(log logr.Logger) io.Writer { return newComplaints(log) }

// Write logs a line.
func (c *complaints) Write(line []byte) (int, error) {
	c.Error(nil, "a connection failed", "reason", strings.TrimSpace(string(line)))
	return len(line), nil
}

// newComplaints returns a log of ten lines at once and then one every ten seconds.
func newComplaints(log logr.Logger) *complaints {
	return &complaints{log: log, rate: rate.NewLimiter(rate.Every(10*time.Second), 10)}
}

// Error logs as a logger does, or counts what it does not log. The next line has that count.
func (c *complaints) Error(err error, text string, keysAndValues ...any) {
	if !c.rate.Allow() {
		c.unsaid.Add(1)
		return
	}
	if n := c.unsaid.Swap(0); n > 0 {
		keysAndValues = append(keysAndValues, "unsaid", n)
	}
	c.log.Error(err, text, keysAndValues...)
}
