package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Edge case 28: transient failures are retried, and others are not.
func TestRetryByClass(t *testing.T) {
	const patch = "PATCH /api/v1/namespaces/prod/configmaps/a"
	quota := &metav1.StatusDetails{Kind: "resourcequotas", Name: "q"}
	tests := map[string]struct {
		first   *http.Response
		guarded bool
		again   bool
		quietly bool
		hint    bool
	}{
		"too many requests":         {first: failure(429, metav1.StatusReasonTooManyRequests, nil), again: true},
		"too many, plain text":      {first: text2response(429, "text/plain", "Too many requests"), again: true},
		"internal error":            {first: failure(500, metav1.StatusReasonInternalError, nil), again: true},
		"unexplained error":         {first: failure(500, "", nil), again: true, quietly: true},
		"service unavailable":       {first: failure(503, metav1.StatusReasonServiceUnavailable, nil), again: true},
		"server timeout":            {first: failure(500, metav1.StatusReasonServerTimeout, nil), again: true},
		"timeout":                   {first: failure(504, metav1.StatusReasonTimeout, nil), again: true},
		"bad gateway from a proxy":  {first: stranger(502), again: true},
		"unavailable, from a proxy": {first: stranger(503), again: true},
		"quota conflict":            {first: failure(409, metav1.StatusReasonConflict, quota), again: true},
		"quota conflict, guarded":   {first: failure(409, metav1.StatusReasonConflict, quota), guarded: true, again: true},
		"conflict of requests":      {first: failure(409, metav1.StatusReasonConflict, nil), again: true},
		"created by another":        {first: failure(409, metav1.StatusReasonAlreadyExists, nil), again: true},
		"conflict with our version": {first: failure(409, metav1.StatusReasonConflict, nil), guarded: true},
		"conflict of managers":      {first: failure(409, metav1.StatusReasonConflict, cause(metav1.CauseTypeFieldManagerConflict))},
		"bad request":               {first: failure(400, metav1.StatusReasonBadRequest, nil)},
		"unauthorized":              {first: failure(401, metav1.StatusReasonUnauthorized, nil), hint: true},
		"forbidden":                 {first: failure(403, metav1.StatusReasonForbidden, nil)},
		"not found":                 {first: failure(404, metav1.StatusReasonNotFound, cause(""))},
		"too large":                 {first: failure(413, metav1.StatusReasonRequestEntityTooLarge, nil)},
		"invalid":                   {first: failure(422, metav1.StatusReasonInvalid, nil)},
		"not implemented":           {first: failure(501, "", nil)},
		// Edge case 19.
		"namespace is terminating": {first: failure(403, metav1.StatusReasonForbidden, cause(corev1.NamespaceTerminatingCause)), hint: true},
		"namespace is absent": {
			first: failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "namespaces", Name: "prod"}),
			hint:  true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, says := newFake(t, func(n int, req *http.Request) (*http.Response, error) {
					if req.Method == http.MethodPatch && n == 1 {
						return tt.first, nil
					}
					return ok(req), nil
				})
				u := newObject(configMaps, "a")
				if tt.guarded {
					u.SetResourceVersion("7")
				}
				_, err := c.Apply(t.Context(), configMaps, u, object.Write{Manager: "m"})
				if !tt.again {
					if err == nil || f.count(patch) != 1 || len(says.retries) != 0 {
						t.Fatalf("error %v after %d requests and %d retries; want an error at once", err, f.count(patch), len(says.retries))
					}
					var hint interface{ Hint() string }
					if errors.As(err, &hint) != tt.hint {
						t.Errorf("hint of %v: %v, want %v", err, hint, tt.hint)
					}
					return
				}
				if err != nil || f.count(patch) != 2 {
					t.Fatalf("error %v after %d requests, want none after 2", err, f.count(patch))
				}
				if tt.quietly {
					if len(says.retries) != 0 {
						t.Errorf("reported %v", says.retries)
					}
					return
				}
				if len(says.retries) != 1 || says.retries[0].ref != refTo(configMaps, "a") {
					t.Errorf("reported %v, want one retry of the object", says.retries)
				}
			})
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := newFake(t, func(n int, req *http.Request) (*http.Response, error) {
			if n == 1 {
				return failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "7"), nil
			}
			return ok(req), nil
		})
		began := time.Now()
		if _, err := c.Get(t.Context(), configMaps, refTo(configMaps, "a")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("tried again after %s, want 7s", took)
		}
		if len(says.retries) != 1 || says.retries[0].in != 7*time.Second {
			t.Errorf("reported %v, want one pause of 7s", says.retries)
		}
	})
}

// If a webhook does not answer, that is a refusal by a healthy server, however long it lasts.
func TestWebhookNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/readyz" {
				return text2response(200, "text/plain", "ok"), nil
			}
			message := apierrors.NewInternalError(errors.New(`failed calling webhook "x.example.com": no endpoints`)).ErrStatus
			message.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			return reply(500, message), nil
		})
		_, err := c.Apply(t.Context(), configMaps, newObject(configMaps, "a"), object.Write{Manager: "m"})
		var unreachable interface{ Unreachable() bool }
		if err == nil || errors.As(err, &unreachable) {
			t.Errorf("the error is not a refusal: %v", err)
		}
	})
}

// Edge case 90: a server that was overloaded for the whole time has not refused anything. The delay
// that the server asks for is reported.
func TestServerAlwaysBusy(t *testing.T) {
	answers := map[string]func() *http.Response{
		"too many requests": func() *http.Response { return failure(429, metav1.StatusReasonTooManyRequests, nil) },
		"Retry-After of an hour": func() *http.Response {
			return failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "3600")
		},
		"internal error":      func() *http.Response { return failure(500, metav1.StatusReasonInternalError, nil) },
		"timeout":             func() *http.Response { return failure(504, metav1.StatusReasonTimeout, nil) },
		"server timeout":      func() *http.Response { return failure(500, metav1.StatusReasonServerTimeout, nil) },
		"service unavailable": func() *http.Response { return failure(503, metav1.StatusReasonServiceUnavailable, nil) },
	}
	for name, answer := range answers {
		for _, q := range questions() {
			if strings.HasPrefix(q.name, "NoRetry.") || q.name == "Count" { // They ask once.
				continue
			}
			t.Run(name+"/"+q.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _, says := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
						if req.URL.Path == "/readyz" {
							return text2response(200, "text/plain", "ok"), nil
						}
						return answer(), nil
					})
					c.Know(configMaps, false)
					began := time.Now()
					err := q.ask(t.Context(), c)
					var unreachable interface{ Unreachable() bool }
					if !errors.As(err, &unreachable) {
						t.Errorf("the error counts as a refusal: %v", err)
					}
					if took := time.Since(began); took < 20*time.Second || took > 31*time.Second {
						t.Errorf("gave up after %s, want about 30s", took)
					}
					if name != "Retry-After of an hour" {
						return
					}
					if !strings.Contains(err.Error(), "1h0m0s") {
						t.Errorf("the delay that it asks for is not reported: %v", err)
					}
					if len(says.retries) == 0 || !strings.Contains(says.retries[0].err.Error(), "1h0m0s") || says.retries[0].in != 30*time.Second {
						t.Errorf("the delay that it asks for is not reported during the wait: %v", says.retries)
					}
				})
			})
		}
	}
}

// An internal error may be caused by the manifest, such as by an unknown field. So it is retried
// only if the server is unhealthy.
func TestUnexplainedError(t *testing.T) {
	tests := map[string]struct {
		ready    int
		min, max int
	}{
		"healthy server":   {ready: 200, min: 2, max: 2},
		"unhealthy server": {ready: 500, min: 5, max: 30},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, says := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
					if req.URL.Path == "/readyz" {
						return failure(tt.ready, "", nil), nil
					}
					return failure(500, "", nil), nil
				})
				_, err := c.Get(t.Context(), configMaps, refTo(configMaps, "a"))
				n := f.count("GET /api")
				if transport.StatusOf(err).Code != 500 || n < tt.min || n > tt.max {
					t.Errorf("error %v after %d requests, want it after %d to %d", err, n, tt.min, tt.max)
				}
				if len(says.retries) != n-2 {
					t.Errorf("reported %d times of %d requests", len(says.retries), n)
				}
			})
		})
	}
}

func TestRetryTimeIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			return failure(500, metav1.StatusReasonInternalError, nil), nil
		})
		get := func(kind object.Kind, name string) (requests int, took time.Duration) {
			before, began := f.count("GET"), time.Now()
			if _, err := c.Get(t.Context(), kind, refTo(kind, name)); !apierrors.IsInternalError(err) {
				t.Fatalf("error %v, want the server's", err)
			}
			return f.count("GET") - before, time.Since(began)
		}
		if n, took := get(configMaps, "a"); n < 5 || took > 30*time.Second {
			t.Errorf("first: %d requests in %s, want several in 30s", n, took)
		}
		began := time.Now()
		for range 1000 {
			get(configMaps, "b")
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a thousand others: took %s, want only the rest of the shared time", took)
		}
		if n, _ := get(secrets, "a"); n < 5 {
			t.Errorf("another kind: %d requests, want it to have its own time", n)
		}
		time.Sleep(time.Minute)
		if n, _ := get(configMaps, "c"); n < 5 {
			t.Errorf("much later: %d requests, want a fresh start", n)
		}
	})
}

func TestNoRetryWithoutServerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, says := newFakeFor(t, 0, func(int, *http.Request) (*http.Response, error) {
			return failure(503, metav1.StatusReasonServiceUnavailable, nil), nil
		})
		_, err := c.Get(t.Context(), configMaps, refTo(configMaps, "a"))
		if !apierrors.IsServiceUnavailable(err) || f.count("GET") != 1 || len(says.retries) != 0 {
			t.Errorf("error %v after %d requests, reported %v", err, f.count("GET"), says.retries)
		}
	})
}

func TestInterruptionEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := newFake(t, func(int, *http.Request) (*http.Response, error) {
			return failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "20"), nil
		})
		why := errors.New("the run is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, why)
		defer cancel()
		began := time.Now()
		_, err := c.Get(ctx, configMaps, refTo(configMaps, "a"))
		if !errors.Is(err, why) || time.Since(began) != 3*time.Second {
			t.Errorf("error %v after %s, want %v after 3s", err, time.Since(began), why)
		}
	})
}

// An internal error without a reason is retried once, and then for as long as the server is
// unhealthy. The remaining time is not known.
func TestUnexplainedErrorHasNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, _, says := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/readyz" && time.Since(began) > 2*time.Second {
				return ok(req), nil
			}
			return failure(500, "", nil), nil
		})
		if err := getMany(t.Context(), c, 1)[0]; err == nil || time.Since(began) > 6*time.Second {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
		if len(says.retries) == 0 || says.retries[0].left != 0 {
			t.Errorf("reported %+v, want no remaining time", says.retries)
		}
	})
}

// A write that was interrupted after it was sent may have been carried out. A write that was
// refused or not sent was not, and neither was a read.
func TestInterruptedWrite(t *testing.T) {
	tests := map[string]struct {
		send func(ctx context.Context, c *Client) error
		// answer is the answer to the interrupted request; nil means that there is none.
		answer func() *http.Response
		want   bool
	}{
		"write": {send: apply(object.Write{Manager: "m"}), want: true},
		"lost, then a pause": {
			send:   apply(object.Write{Manager: "m"}),
			answer: func() *http.Response { return stranger(502) }, want: true,
		},
		"refused, then a pause": {
			send: apply(object.Write{Manager: "m"}),
			answer: func() *http.Response {
				return failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "20")
			},
		},
		"dry run": {send: apply(object.Write{Manager: "m", DryRun: true})},
		"read":    {send: func(ctx context.Context, c *Client) error { return getMany(ctx, c, 1)[0] }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
					if req.URL.Path == "/readyz" {
						return ok(req), nil
					}
					if tt.answer == nil {
						return hang(req)
					}
					return tt.answer(), nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				err := tt.send(ctx, c)
				var underway interface{ MayBeWritten() bool }
				if got := errors.As(err, &underway); got != tt.want || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, may be written: %t, want %t", err, got, tt.want)
				}
			})
		})
	}
}

// If the time runs out during a write, the run waits a little for the result and reports it. Writes
// that were not sent by then are never sent.
func TestFinishesWritesInProgress(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration
		how   object.Write
		done  bool
		after time.Duration // when the call returns
	}{
		"answered a second late": {takes: 3 * time.Second, done: true, after: 3 * time.Second},
		"not answered":           {takes: time.Minute, after: 2*time.Second + lastWord},
		"dry run":                {takes: 3 * time.Second, how: object.Write{DryRun: true}, after: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
					select {
					case <-time.After(tt.takes):
						return ok(req), nil
					case <-req.Context().Done():
						return nil, req.Context().Err()
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began := time.Now()
				err := apply(tt.how)(ctx, c)
				if took := time.Since(began); (err == nil) != tt.done || took != tt.after {
					t.Errorf("after %s: %v", took, err)
				}
				if err := apply(tt.how)(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a request after the end: %v", err)
				}
				if f.count("PATCH /api") != 1 {
					t.Errorf("sent %v, want one write", f.seen)
				}
			})
		})
	}
}

func apply(how object.Write) func(context.Context, *Client) error {
	return func(ctx context.Context, c *Client) error {
		_, err := c.Apply(ctx, configMaps, newObject(configMaps, "a"), how)
		return err
	}
}

// A request ends even if the server never answers.
func TestUnansweredRequestIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, says := newFake(t, func(n int, req *http.Request) (*http.Response, error) {
			if req.URL.Path != "/readyz" && n == 1 {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return ok(req), nil
		})
		began := time.Now()
		if _, err := c.Get(t.Context(), configMaps, refTo(configMaps, "a")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < attemptLimit || took > attemptLimit+time.Second {
			t.Errorf("answer after %s, want a second try after %s", took, attemptLimit)
		}
		if f.count("GET /api") != 2 || len(says.retries) != 1 || !errors.Is(says.retries[0].err, transport.ErrNoAnswerInTime) {
			t.Errorf("asked %v, reported %v", f.seen, says.retries)
		}
	})
}

// The server is reachable, but the connection breaks each time during this request.
func TestRequestNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/readyz" {
				return ok(req), nil
			}
			return nil, errors.New("some proxy broke it off")
		})
		began := time.Now()
		_, err := c.Get(t.Context(), configMaps, refTo(configMaps, "a"))
		var unknown interface{ Unreachable() bool }
		if !errors.As(err, &unknown) || errors.As(err, new(*transport.UnreachableError)) {
			t.Errorf("error %v, want one that claims neither a refusal nor an unreachable server", err)
		}
		if took := time.Since(began); took > 31*time.Second {
			t.Errorf("gave up after %s", took)
		}
		for _, r := range says.retries {
			if r.ref != refTo(configMaps, "a") {
				t.Errorf("reported %v, want only retries of this object", r)
			}
		}
	})
}
