package transport

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// failure is a way of failing: this kind, with this code of the server's; or all requests
// that share one patience.
type failure struct {
	kind     schema.GroupVersionKind
	code     int32
	patience string
}

// retryBudget is the time that a run may spend on retries without any improvement. So a
// thousand objects behind one dead webhook cost the time of one, and a server that is
// busy now and then costs nothing.
type retryBudget struct {
	limit time.Duration

	mu sync.Mutex
	// open holds the first and the latest failure, for each kind that has not passed.
	open map[failure]span
}

type span struct{ began, latest time.Time }

func newRetryBudget(limit time.Duration) *retryBudget {
	return &retryBudget{limit: limit, open: map[failure]span{}}
}

// spent returns how long a failure has lasted, through all requests that met it. One that was
// not heard of for as long as the limit has passed.
func (t *retryBudget) spent(what failure) time.Duration { return t.spentSince(what, time.Now()) }

// spentSince is spent for a failure that has lasted since then at least.
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

// over records that retrying helped.
func (t *retryBudget) over(what failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, what)
}
