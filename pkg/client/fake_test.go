package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// TestMain disables client-go's error handlers. One of them would sleep for decades of virtual
// time.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// fake is a server without a network, so that tests can use virtual time. It decides how requests
// end. It does not imitate the results of server-side apply.
type fake struct {
	mu     sync.Mutex
	seen   []string // "METHOD /path"
	answer func(n int, req *http.Request) (*http.Response, error)
	// posing is set if answer also handles /readyz.
	posing bool
}

// CloseIdleConnections exists because client-go would otherwise log a warning.
func (f *fake) CloseIdleConnections() {}

// RoundTrip calls answer. The number counts the requests of the same method and path, from 1.
func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	what := req.Method + " " + req.URL.Path
	f.seen = append(f.seen, what)
	n := f.countLocked(what)
	f.mu.Unlock()
	resp, err := f.answer(n, req)
	if resp != nil && req.URL.Path == "/readyz" && resp.StatusCode == http.StatusOK && !f.posing {
		if _, err := io.Copy(io.Discard, resp.Body); err == nil {
			resp = text2response(http.StatusOK, "text/plain", "ok")
		}
	}
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}

func (f *fake) countLocked(prefix string) int {
	n := 0
	for _, what := range f.seen {
		if strings.HasPrefix(what, prefix) {
			n++
		}
	}
	return n
}

func (f *fake) count(prefix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.countLocked(prefix)
}

// Copies of constants of the client.
const (
	// attemptLimit limits the duration of one request.
	attemptLimit = 2 * time.Minute
	// settling is how long a server may take to become ready once it is reachable again.
	settling = 10 * time.Second
	// lastWord is how long a write in progress may continue when the run is stopped.
	lastWord = 3 * time.Second
)

// reported collects what a client reports.
type reported struct {
	mu        sync.Mutex
	retries   []throttled
	warnings  []warning
	silences  []hangs
	reachable []time.Time
}

type warning struct {
	ref  object.Ref
	text string
}

type hangs struct {
	ref           object.Ref
	since, within time.Duration
}

type throttled struct {
	ref      object.Ref
	err      error
	in, left time.Duration
}

func (t *reported) options(o Options) Options {
	o.OnRetry = func(ref object.Ref, err error, in, left time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.retries = append(t.retries, throttled{ref, err, in, left})
	}
	o.OnReachable = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.reachable = append(t.reachable, time.Now())
	}
	o.OnStall = func(ref object.Ref, since time.Time, within time.Duration, _ error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.silences = append(t.silences, hangs{ref, time.Since(since), within})
	}
	o.OnWarning = func(ref object.Ref, text string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.warnings = append(t.warnings, warning{ref, text})
	}
	return o
}

// newFake returns a client of a fake server that retries for 30 s.
func newFake(t *testing.T, answer func(n int, req *http.Request) (*http.Response, error)) (*Client, *fake, *reported) {
	t.Helper()
	return newFakeFor(t, 30*time.Second, answer)
}

// newFakeFor returns a client of a fake server that retries for the given time.
func newFakeFor(t *testing.T, timeout time.Duration, answer func(n int, req *http.Request) (*http.Response, error)) (*Client, *fake, *reported) {
	t.Helper()
	f, says := &fake{answer: answer}, &reported{}
	c, err := New(says.options(Options{
		REST:          &rest.Config{Host: "http://fake", Transport: f},
		ServerTimeout: timeout,
	}))
	if err != nil {
		t.Fatal(err)
	}
	return c, f, says
}

// reply returns an answer with JSON.
func reply(code int, body any, header ...string) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return text2response(code, "application/json", string(text), header...)
}

func text2response(code int, mediaType, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {mediaType}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{
		Status: strconv.Itoa(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// failure returns an API server's refusal.
func failure(code int, reason metav1.StatusReason, details *metav1.StatusDetails, header ...string) *http.Response {
	return reply(code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Details: details,
		Message: fmt.Sprintf("%d %s", code, reason),
	}, header...)
}

// stranger returns an answer that does not come from an API server.
func stranger(code int) *http.Response {
	return text2response(code, "text/html", "<html>bad gateway</html>")
}

func cause(kind metav1.CauseType) *metav1.StatusDetails {
	return &metav1.StatusDetails{Kind: "configmaps", Name: "a", Causes: []metav1.StatusCause{{Type: kind}}}
}

var configMaps = object.Kind{
	GVK:      schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	Resource: "configmaps", Namespaced: true, Verbs: []string{"get", "list", "watch", "patch"},
}

var definitions = object.Kind{
	GVK:      schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	Resource: "customresourcedefinitions", Verbs: []string{"get", "list"},
}

var secrets = object.Kind{
	GVK:      schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
	Resource: "secrets", Namespaced: true, Verbs: []string{"get", "list", "watch", "patch"},
}

func newObject(kind object.Kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK)
	u.SetNamespace("prod")
	u.SetName(name)
	return u
}

func refTo(kind object.Kind, name string) object.Ref {
	return object.Ref{GVK: kind.GVK, Namespace: "prod", Name: name}
}

// ok answers a request for an object with an object of that name.
func ok(req *http.Request) *http.Response {
	parts := strings.Split(req.URL.Path, "/")
	u := newObject(configMaps, parts[len(parts)-1])
	u.SetUID("u")
	return reply(http.StatusOK, u)
}
