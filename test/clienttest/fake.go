package clienttest

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Fake is a server without a network, so that tests can use virtual time. It decides how requests
// end. It does not imitate the results of server-side apply.
type Fake struct {
	mu       sync.Mutex
	Requests []string // "METHOD /path"
	Answer   func(n int, req *http.Request) (*http.Response, error)
	// AnswersReadyz is set if Answer also handles /readyz.
	AnswersReadyz bool
}

// CloseIdleConnections exists because client-go would otherwise log a warning.
func (f *Fake) CloseIdleConnections() {}

// RoundTrip calls Answer. The number counts the requests of the same method and path, from 1.
func (f *Fake) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	what := req.Method + " " + req.URL.Path
	f.Requests = append(f.Requests, what)
	n := f.countLocked(what)
	f.mu.Unlock()
	resp, err := f.Answer(n, req)
	if resp != nil && req.URL.Path == "/readyz" && resp.StatusCode == http.StatusOK && !f.AnswersReadyz {
		if _, err := io.Copy(io.Discard, resp.Body); err == nil {
			resp = Text(http.StatusOK, "text/plain", "ok")
		}
	}
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}

func (f *Fake) countLocked(prefix string) int {
	n := 0
	for _, what := range f.Requests {
		if strings.HasPrefix(what, prefix) {
			n++
		}
	}
	return n
}

// Count returns how many requests begin with a prefix, such as "GET /api".
func (f *Fake) Count(prefix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.countLocked(prefix)
}

// Catalogues returns the requests that read all served kinds.
func (f *Fake) Catalogues() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var asked []string
	for _, what := range f.Requests {
		if what == "GET /api" || what == "GET /apis" {
			asked = append(asked, what)
		}
	}
	slices.Sort(asked)
	return asked
}

// Copies of constants of the client.
const (
	// AttemptLimit limits the duration of one request.
	AttemptLimit = 2 * time.Minute
	// Settling is how long a server may take to become ready once it is reachable again.
	Settling = 10 * time.Second
	// LastWord is how long a write in progress may continue when the run is stopped.
	LastWord = 3 * time.Second
)

// Reports collects what a client reports.
type Reports struct {
	mu        sync.Mutex
	Retries   []Retry
	Warnings  []Warning
	Stalls    []Stall
	Reachable []time.Time
}

// Warning is a reported warning.
type Warning struct {
	Ref  object.Ref
	Text string
}

// Stall is a report that a request got no answer.
type Stall struct {
	Ref           object.Ref
	Since, Within time.Duration
}

// Retry is a report that a request is sent again.
type Retry struct {
	Ref      object.Ref
	Err      error
	In, Left time.Duration
}

// Options returns the options with callbacks that collect the reports.
func (t *Reports) Options(o client.Options) client.Options {
	o.OnRetry = func(ref object.Ref, err error, in, left time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.Retries = append(t.Retries, Retry{Ref: ref, Err: err, In: in, Left: left})
	}
	o.OnReachable = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.Reachable = append(t.Reachable, time.Now())
	}
	o.OnStall = func(ref object.Ref, since time.Time, within time.Duration, _ error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.Stalls = append(t.Stalls, Stall{Ref: ref, Since: time.Since(since), Within: within})
	}
	o.OnWarning = func(ref object.Ref, text string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.Warnings = append(t.Warnings, Warning{Ref: ref, Text: text})
	}
	return o
}

// Retried returns how many retries were reported so far.
func (t *Reports) Retried() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.Retries)
}

// New returns a client of a fake server that retries for 30 s.
func New(t *testing.T, answer func(n int, req *http.Request) (*http.Response, error)) (*client.Client, *Fake, *Reports) {
	t.Helper()
	return NewFor(t, 30*time.Second, answer)
}

// NewFor returns a client of a fake server that retries for the given time.
func NewFor(t *testing.T, timeout time.Duration, answer func(n int, req *http.Request) (*http.Response, error)) (*client.Client, *Fake, *Reports) {
	t.Helper()
	f, says := &Fake{Answer: answer}, &Reports{}
	c, err := client.New(says.Options(client.Options{
		REST:          &rest.Config{Host: "http://fake", Transport: f},
		ServerTimeout: timeout,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return c, f, says
}
