package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
)

// ask posts a body, and returns the HTTP status. For a review, it also returns the answer.
func ask(tb testing.TB, handler http.Handler, body []byte) (int, *admissionv1.AdmissionReview) {
	tb.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
	if w.Code != http.StatusOK {
		return w.Code, nil
	}
	answer := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
		tb.Fatalf("%v\n%s", err, w.Body)
	}
	return w.Code, answer
}

const small = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE"}}`

// Edge case 75: if evaluating a review fails in any way, the request is allowed, and the fault is
// counted.
func TestFaultsAllowRequest(t *testing.T) {
	tests := map[string]struct {
		evaluate evaluator
		fault    fault
		want     []string
	}{
		"panic": {
			evaluate: func(*request) (findings, error) { panic("secret value of a field") }, fault: faultPanic,
		},
		"runtime panic": {
			evaluate: func(r *request) (findings, error) { return findings{}, errors.New(string(r.Object.raw[7])) }, fault: faultPanic,
		},
		"error": {
			evaluate: func(*request) (findings, error) { return findings{}, errors.New("unreadable") }, fault: faultObject,
		},
		"error after warnings": {
			evaluate: func(*request) (findings, error) {
				return findings{warnings: []warning{{aboutVersion, "old"}}}, errors.New("unreadable")
			},
			fault: faultObject, want: []string{"old"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newHandler(t, tt.evaluate)
			_, got := ask(t, a, []byte(small))
			want := &admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: "u", Allowed: true, Warnings: tt.want}}
			want.APIVersion, want.Kind = "admission.k8s.io/v1", "AdmissionReview"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if n := faults(t, a, tt.fault); n != 1 {
				t.Errorf("%v faults are counted", n)
			}
		})
	}
}

// A client that announces a large review and sends nothing keeps neither a connection nor memory
// for long.
func TestReviewNeverArrives(t *testing.T) {
	a := newHandler(t, func(*request) (findings, error) { return findings{}, nil })
	a.readTimeout = 50 * time.Millisecond
	server := httptest.NewServer(a)
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: webhook\r\nContent-Length: %d\r\n\r\n{", maxReview); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400") {
		t.Errorf("the answer is %q, %v", got, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{"))
	r.ContentLength = maxReview
	if _, err := readReview(r.Body, r.ContentLength); err == nil {
		t.Error("readReview() succeeded for an incomplete review, want an error")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("allocated %d bytes for a body that did not arrive", took)
	}
}

// The value of a panic may be part of an object. It is logged only if it cannot be.
func TestPanicError(t *testing.T) {
	if got := (panicError{"hunter2"}).Error(); strings.Contains(got, "hunter2") {
		t.Errorf("got %q, want it without the value of the panic", got)
	}
	defer func() {
		if got := (panicError{recover()}).Error(); !strings.Contains(got, "out of range") {
			t.Errorf("got %q, want the text of the runtime error", got)
		}
	}()
	_ = []int{}[len(t.Name())]
}

// Edge case 75: anything that is not a review gets an HTTP error, never a denial.
func TestBadReviews(t *testing.T) {
	huge := strings.Replace(small, `"u"`, `"`+strings.Repeat("u", maxReview)+`"`, 1)
	tests := map[string]struct {
		body string
		want int
	}{
		"nothing":               {"", http.StatusBadRequest},
		"not JSON":              {"\x00\xff", http.StatusBadRequest},
		"truncated review":      {small[:len(small)-1], http.StatusBadRequest},
		"two reviews":           {small + small, http.StatusBadRequest},
		"another kind":          {strings.Replace(small, "AdmissionReview", "Pod", 1), http.StatusBadRequest},
		"another group":         {strings.Replace(small, "admission.k8s.io", "example.com", 1), http.StatusBadRequest},
		"no request":            {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, http.StatusBadRequest},
		"null request":          {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`, http.StatusBadRequest},
		"no UID":                {strings.Replace(small, `"u"`, `""`, 1), http.StatusBadRequest},
		"UID of the wrong type": {strings.Replace(small, `"u"`, `[1]`, 1), http.StatusBadRequest},
		"seven megabytes":       {huge, http.StatusRequestEntityTooLarge},
		"an older version":      {strings.Replace(small, "/v1", "/v1beta1", 1), http.StatusOK},
		"a newer version":       {strings.Replace(small, "/v1", "/v3", 1), http.StatusOK},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := newHandler(t, func(*request) (findings, error) { return findings{}, nil })
			status, answer := ask(t, a, []byte(tt.body))
			if status != tt.want {
				t.Errorf("status %d, want %d", status, tt.want)
			}
			if answer != nil && (!answer.Response.Allowed || !strings.Contains(tt.body, answer.APIVersion)) {
				t.Errorf("answer %+v at %s", answer.Response, answer.APIVersion)
			}
			wantFaults := 0.0
			if tt.want != http.StatusOK {
				wantFaults = 1
			}
			if n := faults(t, a, faultReview); n != wantFaults {
				t.Errorf("%v faults are counted", n)
			}
		})
	}
}

// A body may be longer or shorter than its Content-Length, or have none.
func TestBodyLengths(t *testing.T) {
	for name, length := range map[string]int64{"unknown": -1, "too long": maxReview + 1, "shorter": int64(len(small)) + 5, "exact": int64(len(small))} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(strings.NewReader(small)))
			r.ContentLength = length
			_, err := readReview(r.Body, r.ContentLength)
			if (err != nil) != (name == "shorter") {
				t.Error(err)
			}
		})
	}
}

// Edge case 79: during the shutdown, the webhook tells clients with each answer to reconnect.
// Before the shutdown, it does not.
func TestDrainingClosesConnections(t *testing.T) {
	a := newHandler(t, func(*request) (findings, error) { return findings{}, nil })
	for _, draining := range []bool{false, true} {
		a.draining = func() bool { return draining }
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(small)))
		if got := w.Header().Get("Connection") == "close"; got != draining || w.Code != http.StatusOK {
			t.Errorf("draining %t: close %t, status %d", draining, got, w.Code)
		}
	}
}

// faults returns how many faults of a kind were counted.
func faults(tb testing.TB, a *handler, f fault) float64 {
	tb.Helper()
	return testutil.ToFloat64(a.count.faults.WithLabelValues(a.name, string(f)))
}
