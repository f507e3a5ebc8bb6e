package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is how an HTTP fails a request.
type Fault struct {
	// Status is the HTTP status of the answer, with a Kubernetes Status object as
	// its body. 0 gives no answer: the stream is reset.
	Status int
	// RetryAfter, if set, is sent as the header of that name, in whole seconds.
	RetryAfter time.Duration
	// Message is the text of the answer.
	Message string
	// Delay is waited for first.
	Delay time.Duration
	// Body, if set, comes in place of the Status object, as something on the way
	// would send it that is no API server.
	Body string
	// Half lets the API server carry out the request, and hands on the first half
	// of its answer, with an end that looks like one.
	Half bool
	// AnswerLost lets the API server carry out the request, and fails it
	// afterwards: the client cannot know that it was done.
	AnswerLost bool
	// Slow carries the request out after the delay, and answers as the API server
	// does.
	Slow bool
}

// Match chooses requests. It must not read the body.
type Match func(*http.Request) bool

// Path matches requests with a method (any, if empty) and a path that begins so.
func Path(method, prefix string) Match {
	return func(r *http.Request) bool {
		return (method == "" || method == r.Method) && strings.HasPrefix(r.URL.Path, prefix)
	}
}

type rule struct {
	left  int
	match Match
	fault Fault
}

func (r *rule) applies(request *http.Request) bool {
	if r.left == 0 || !r.match(request) {
		return false
	}
	if r.left > 0 {
		r.left--
	}
	return true
}

// answer writes the fault as the API server would.
func (f Fault) answer(w http.ResponseWriter, r *http.Request) {
	if f.Status == 0 {
		panic(http.ErrAbortHandler) // net/http's way to reset a stream
	}
	if f.Body != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return
	}
	details := map[string]any{}
	if f.RetryAfter > 0 {
		seconds := int(math.Ceil(f.RetryAfter.Seconds()))
		details["retryAfterSeconds"] = seconds
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	message := f.Message
	if message == "" {
		message = "the test wants " + r.Method + " " + r.URL.Path + " to fail"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "v1",
		"kind":       "Status",
		"metadata":   map[string]any{},
		"status":     "Failure",
		"message":    message,
		"reason":     reason(f.Status),
		"details":    details,
		"code":       f.Status,
	})
}

// reason is the one that clients rely on.
func reason(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return "TooManyRequests"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailable"
	case http.StatusInternalServerError:
		return "InternalError"
	case http.StatusGatewayTimeout:
		return "Timeout"
	case http.StatusForbidden:
		return "Forbidden"
	case http.StatusUnauthorized:
		return "Unauthorized"
	default:
		return ""
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// statusWriter records the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status func(int)
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	w.status(code)
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController flush.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// halved takes an answer of which half is handed on.
type halved struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *halved) Header() http.Header            { return h.header }
func (h *halved) Write(text []byte) (int, error) { return h.body.Write(text) }
func (h *halved) WriteHeader(status int)         { h.status = status }

// handOn sends the first half of what the API server answered.
func (h *halved) handOn(w http.ResponseWriter) {
	for name, values := range h.header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(h.status)
	_, _ = w.Write(h.body.Bytes()[:h.body.Len()/2])
}

// discard takes an answer that gets lost.
type discard struct{ header http.Header }

func (d discard) Header() http.Header           { return d.header }
func (discard) Write(bytes []byte) (int, error) { return len(bytes), nil }
func (discard) WriteHeader(int)                 {}
