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

// Fault describes how an HTTP proxy fails a request.
type Fault struct {
	// Status is the response's HTTP status, with a Kubernetes Status as its body. 0 resets the
	// stream without a response.
	Status int
	// RetryAfter is the Retry-After header, in whole seconds; 0 for none.
	RetryAfter time.Duration
	// Message is the message of the Status.
	Message string
	// Delay precedes the response.
	Delay time.Duration
	// Body replaces the Status object, as an intermediary would that is not an API server.
	Body string
	// Half forwards the request, and returns the first half of its response as if it were complete.
	Half bool
	// AnswerLost forwards the request and drops its response: the client cannot know that it was
	// carried out.
	AnswerLost bool
	// Slow forwards the request after the delay, and returns its response.
	Slow bool
}

// Match selects requests. It must not read the body.
type Match func(*http.Request) bool

// Path matches requests with a method (any if empty) and a path prefix.
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

// answer writes the fault's response, in the API server's format.
func (f Fault) answer(w http.ResponseWriter, r *http.Request) {
	if f.Status == 0 {
		panic(http.ErrAbortHandler) // net/http resets the stream
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

// reason returns the Status reason that clients rely on.
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

// statusWriter reports the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status func(int)
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	w.status(code)
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap makes http.ResponseController able to flush.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// halved buffers a response, to return half of it.
type halved struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *halved) Header() http.Header            { return h.header }
func (h *halved) Write(text []byte) (int, error) { return h.body.Write(text) }
func (h *halved) WriteHeader(status int)         { h.status = status }

// handOn writes the first half of the API server's response.
func (h *halved) handOn(w http.ResponseWriter) {
	for name, values := range h.header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(h.status)
	_, _ = w.Write(h.body.Bytes()[:h.body.Len()/2])
}

// discard drops a response.
type discard struct{ header http.Header }

func (d discard) Header() http.Header           { return d.header }
func (discard) Write(bytes []byte) (int, error) { return len(bytes), nil }
func (discard) WriteHeader(int)                 {}
