package transport_test

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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

func cause(kind metav1.CauseType) *metav1.StatusDetails {
	return &metav1.StatusDetails{Kind: "configmaps", Name: "a", Causes: []metav1.StatusCause{{Type: kind}}}
}

var secrets = object.Kind{
	GVK:      schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
	Resource: "secrets", Namespaced: true, Verbs: []string{"get", "list", "watch", "patch"},
}

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
		"too many requests":         {first: clienttest.Failure(429, metav1.StatusReasonTooManyRequests, nil), again: true},
		"too many, plain text":      {first: clienttest.Text(429, "text/plain", "Too many requests"), again: true},
		"internal error":            {first: clienttest.Failure(500, metav1.StatusReasonInternalError, nil), again: true},
		"unexplained error":         {first: clienttest.Failure(500, "", nil), again: true, quietly: true},
		"service unavailable":       {first: clienttest.Failure(503, metav1.StatusReasonServiceUnavailable, nil), again: true},
		"server timeout":            {first: clienttest.Failure(500, metav1.StatusReasonServerTimeout, nil), again: true},
		"timeout":                   {first: clienttest.Failure(504, metav1.StatusReasonTimeout, nil), again: true},
		"bad gateway from a proxy":  {first: clienttest.HTML(502), again: true},
		"unavailable, from a proxy": {first: clienttest.HTML(503), again: true},
		"quota conflict":            {first: clienttest.Failure(409, metav1.StatusReasonConflict, quota), again: true},
		"quota conflict, guarded":   {first: clienttest.Failure(409, metav1.StatusReasonConflict, quota), guarded: true, again: true},
		"conflict of requests":      {first: clienttest.Failure(409, metav1.StatusReasonConflict, nil), again: true},
		"created by another":        {first: clienttest.Failure(409, metav1.StatusReasonAlreadyExists, nil), again: true},
		"conflict with our version": {first: clienttest.Failure(409, metav1.StatusReasonConflict, nil), guarded: true},
		"conflict of managers":      {first: clienttest.Failure(409, metav1.StatusReasonConflict, cause(metav1.CauseTypeFieldManagerConflict))},
		"bad request":               {first: clienttest.Failure(400, metav1.StatusReasonBadRequest, nil)},
		"unauthorized":              {first: clienttest.Failure(401, metav1.StatusReasonUnauthorized, nil), hint: true},
		"forbidden":                 {first: clienttest.Failure(403, metav1.StatusReasonForbidden, nil)},
		"not found":                 {first: clienttest.Failure(404, metav1.StatusReasonNotFound, cause(""))},
		"too large":                 {first: clienttest.Failure(413, metav1.StatusReasonRequestEntityTooLarge, nil)},
		"invalid":                   {first: clienttest.Failure(422, metav1.StatusReasonInvalid, nil)},
		"not implemented":           {first: clienttest.Failure(501, "", nil)},
		// Edge case 19.
		"namespace is terminating": {first: clienttest.Failure(403, metav1.StatusReasonForbidden, cause(corev1.NamespaceTerminatingCause)), hint: true},
		"namespace is absent": {
			first: clienttest.Failure(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "namespaces", Name: "prod"}),
			hint:  true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, says := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
					if req.Method == http.MethodPatch && n == 1 {
						return tt.first, nil
					}
					return clienttest.OK(req), nil
				})
				u := clienttest.NewObject(clienttest.ConfigMaps(), "a")
				if tt.guarded {
					u.SetResourceVersion("7")
				}
				_, err := c.Apply(t.Context(), clienttest.ConfigMaps(), u, object.Write{Manager: "m"})
				if !tt.again {
					if err == nil || f.Count(patch) != 1 || len(says.Retries) != 0 {
						t.Fatalf("error %v after %d requests and %d retries; want an error at once", err, f.Count(patch), len(says.Retries))
					}
					var hint interface{ Hint() string }
					if errors.As(err, &hint) != tt.hint {
						t.Errorf("hint of %v: %v, want %v", err, hint, tt.hint)
					}
					return
				}
				if err != nil || f.Count(patch) != 2 {
					t.Fatalf("error %v after %d requests, want none after 2", err, f.Count(patch))
				}
				if tt.quietly {
					if len(says.Retries) != 0 {
						t.Errorf("reported %v", says.Retries)
					}
					return
				}
				if len(says.Retries) != 1 || says.Retries[0].Ref != clienttest.RefTo(clienttest.ConfigMaps(), "a") {
					t.Errorf("reported %v, want one retry of the object", says.Retries)
				}
			})
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
			if n == 1 {
				return clienttest.Failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "7"), nil
			}
			return clienttest.OK(req), nil
		})
		began := time.Now()
		if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("tried again after %s, want 7s", took)
		}
		if len(says.Retries) != 1 || says.Retries[0].In != 7*time.Second {
			t.Errorf("reported %v, want one pause of 7s", says.Retries)
		}
	})
}

// If a webhook does not answer, that is a refusal by a healthy server, however long it lasts.
func TestWebhookNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/readyz" {
				return clienttest.Text(200, "text/plain", "ok"), nil
			}
			message := apierrors.NewInternalError(errors.New(`failed calling webhook "x.example.com": no endpoints`)).ErrStatus
			message.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			return clienttest.Reply(500, message), nil
		})
		_, err := c.Apply(t.Context(), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
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
		"too many requests": func() *http.Response { return clienttest.Failure(429, metav1.StatusReasonTooManyRequests, nil) },
		"Retry-After of an hour": func() *http.Response {
			return clienttest.Failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "3600")
		},
		"internal error":      func() *http.Response { return clienttest.Failure(500, metav1.StatusReasonInternalError, nil) },
		"timeout":             func() *http.Response { return clienttest.Failure(504, metav1.StatusReasonTimeout, nil) },
		"server timeout":      func() *http.Response { return clienttest.Failure(500, metav1.StatusReasonServerTimeout, nil) },
		"service unavailable": func() *http.Response { return clienttest.Failure(503, metav1.StatusReasonServiceUnavailable, nil) },
	}
	for name, answer := range answers {
		for _, q := range clienttest.Questions() {
			if strings.HasPrefix(q.Name, "NoRetry.") { // They ask once.
				continue
			}
			t.Run(name+"/"+q.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
						if req.URL.Path == "/readyz" {
							return clienttest.Text(200, "text/plain", "ok"), nil
						}
						return answer(), nil
					})
					c.Know(clienttest.ConfigMaps(), false)
					began := time.Now()
					err := q.Ask(t.Context(), c)
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
					if len(says.Retries) == 0 || !strings.Contains(says.Retries[0].Err.Error(), "1h0m0s") || says.Retries[0].In != 30*time.Second {
						t.Errorf("the delay that it asks for is not reported during the wait: %v", says.Retries)
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
				c, f, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					if req.URL.Path == "/readyz" {
						return clienttest.Failure(tt.ready, "", nil), nil
					}
					return clienttest.Failure(500, "", nil), nil
				})
				_, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
				n := f.Count("GET /api")
				if transport.StatusOf(err).Code != 500 || n < tt.min || n > tt.max {
					t.Errorf("error %v after %d requests, want it after %d to %d", err, n, tt.min, tt.max)
				}
				if len(says.Retries) != n-2 {
					t.Errorf("reported %d times of %d requests", len(says.Retries), n)
				}
			})
		})
	}
}

func TestRetryTimeIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			return clienttest.Failure(500, metav1.StatusReasonInternalError, nil), nil
		})
		get := func(kind object.Kind, name string) (requests int, took time.Duration) {
			before, began := f.Count("GET"), time.Now()
			if _, err := c.Get(t.Context(), kind, clienttest.RefTo(kind, name)); !apierrors.IsInternalError(err) {
				t.Fatalf("error %v, want the server's", err)
			}
			return f.Count("GET") - before, time.Since(began)
		}
		if n, took := get(clienttest.ConfigMaps(), "a"); n < 5 || took > 30*time.Second {
			t.Errorf("first: %d requests in %s, want several in 30s", n, took)
		}
		began := time.Now()
		for range 1000 {
			get(clienttest.ConfigMaps(), "b")
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a thousand others: took %s, want only the rest of the shared time", took)
		}
		if n, _ := get(secrets, "a"); n < 5 {
			t.Errorf("another kind: %d requests, want it to have its own time", n)
		}
		time.Sleep(time.Minute)
		if n, _ := get(clienttest.ConfigMaps(), "c"); n < 5 {
			t.Errorf("much later: %d requests, want a fresh start", n)
		}
	})
}

func TestNoRetryWithoutServerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, says := clienttest.NewFor(t, 0, func(int, *http.Request) (*http.Response, error) {
			return clienttest.Failure(503, metav1.StatusReasonServiceUnavailable, nil), nil
		})
		_, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
		if !apierrors.IsServiceUnavailable(err) || f.Count("GET") != 1 || len(says.Retries) != 0 {
			t.Errorf("error %v after %d requests, reported %v", err, f.Count("GET"), says.Retries)
		}
	})
}

func TestInterruptionEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := clienttest.New(t, func(int, *http.Request) (*http.Response, error) {
			return clienttest.Failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "20"), nil
		})
		why := errors.New("the run is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, why)
		defer cancel()
		began := time.Now()
		_, err := c.Get(ctx, clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
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
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/readyz" && time.Since(began) > 2*time.Second {
				return clienttest.OK(req), nil
			}
			return clienttest.Failure(500, "", nil), nil
		})
		if err := getMany(t.Context(), c, 1)[0]; err == nil || time.Since(began) > 6*time.Second {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
		if len(says.Retries) == 0 || says.Retries[0].Left != 0 {
			t.Errorf("reported %+v, want no remaining time", says.Retries)
		}
	})
}

// A write that was interrupted after it was sent may have been carried out. A write that was
// refused or not sent was not, and neither was a read.
func TestInterruptedWrite(t *testing.T) {
	tests := map[string]struct {
		send func(ctx context.Context, c *client.Client) error
		// answer is the answer to the interrupted request; nil means that there is none.
		answer func() *http.Response
		want   bool
	}{
		"write": {send: apply(object.Write{Manager: "m"}), want: true},
		"lost, then a pause": {
			send:   apply(object.Write{Manager: "m"}),
			answer: func() *http.Response { return clienttest.HTML(502) }, want: true,
		},
		"refused, then a pause": {
			send: apply(object.Write{Manager: "m"}),
			answer: func() *http.Response {
				return clienttest.Failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "20")
			},
		},
		"dry run": {send: apply(object.Write{Manager: "m", DryRun: true})},
		"read":    {send: func(ctx context.Context, c *client.Client) error { return getMany(ctx, c, 1)[0] }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					if req.URL.Path == "/readyz" {
						return clienttest.OK(req), nil
					}
					if tt.answer == nil {
						return clienttest.Hang(req)
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
		"not answered":           {takes: time.Minute, after: 2*time.Second + clienttest.LastWord},
		"dry run":                {takes: 3 * time.Second, how: object.Write{DryRun: true}, after: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					select {
					case <-time.After(tt.takes):
						return clienttest.OK(req), nil
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
				if f.Count("PATCH /api") != 1 {
					t.Errorf("sent %v, want one write", f.Requests)
				}
			})
		})
	}
}

func apply(how object.Write) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		_, err := c.Apply(ctx, clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), how)
		return err
	}
}

// A request ends even if the server never answers.
func TestUnansweredRequestIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, says := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
			if req.URL.Path != "/readyz" && n == 1 {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return clienttest.OK(req), nil
		})
		began := time.Now()
		if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < clienttest.AttemptLimit || took > clienttest.AttemptLimit+time.Second {
			t.Errorf("answer after %s, want a second try after %s", took, clienttest.AttemptLimit)
		}
		if f.Count("GET /api") != 2 || len(says.Retries) != 1 || !errors.Is(says.Retries[0].Err, transport.ErrNoAnswerInTime) {
			t.Errorf("asked %v, reported %v", f.Requests, says.Retries)
		}
	})
}

// The server is reachable, but the connection breaks each time during this request.
func TestRequestNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/readyz" {
				return clienttest.OK(req), nil
			}
			return nil, errors.New("some proxy broke it off")
		})
		began := time.Now()
		_, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
		var unknown interface{ Unreachable() bool }
		if !errors.As(err, &unknown) || errors.As(err, new(*transport.UnreachableError)) {
			t.Errorf("error %v, want one that claims neither a refusal nor an unreachable server", err)
		}
		if took := time.Since(began); took > 31*time.Second {
			t.Errorf("gave up after %s", took)
		}
		for _, r := range says.Retries {
			if r.Ref != clienttest.RefTo(clienttest.ConfigMaps(), "a") {
				t.Errorf("reported %v, want only retries of this object", r)
			}
		}
	})
}
