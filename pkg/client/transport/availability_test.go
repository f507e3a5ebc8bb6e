package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// getMany reads n objects concurrently and returns their errors.
func getMany(ctx context.Context, c *client.Client, n int) []error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			_, errs[i] = c.Get(ctx, clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), fmt.Sprint("a", i)))
		})
	}
	wait.Wait()
	return errs
}

// Edge case 28: while the server is unreachable, one request tries to reach it, and all others wait
// for the result.
func TestOutage(t *testing.T) {
	tests := map[string]func() (*http.Response, error){
		"connection refused": func() (*http.Response, error) { return nil, clienttest.ErrRefused },
		"end of file":        func() (*http.Response, error) { return nil, io.EOF },
		"no such host":       func() (*http.Response, error) { return nil, &net.DNSError{Name: "x", IsNotFound: true} },
		"load balancer":      func() (*http.Response, error) { return clienttest.HTML(503), nil },
		"reset in the answer": func() (*http.Response, error) {
			resp := clienttest.Reply(200, nil)
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"kind":"C`), clienttest.BrokenBody{Err: syscall.ECONNRESET}))
			return resp, nil
		},
	}
	for name, away := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				back := time.Now().Add(12 * time.Second)
				c, f, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					if time.Now().Before(back) {
						return away()
					}
					return clienttest.OK(req), nil
				})
				if err := errors.Join(getMany(t.Context(), c, 200)...); err != nil {
					t.Fatal(err)
				}
				if late := time.Since(back); late > 5*time.Second {
					t.Errorf("done %s after the server was back", late)
				}
				// Only requests that were in progress failed. During the outage, no other request
				// was sent.
				if n := f.Count("GET /api"); n <= 200 || n > 200+transport.MaxConcurrency {
					t.Errorf("%d requests, want 200 and at most %d that failed", n, transport.MaxConcurrency)
				}
				if len(says.Retries) != f.Count("GET /readyz")-1 {
					t.Errorf("reported %d retries for %d requests to readyz, want one fewer", len(says.Retries), f.Count("GET /readyz"))
				}
				if len(says.Reachable) != 1 {
					t.Errorf("reported %d times that the server is reachable, want once", len(says.Reachable))
				}
				for _, r := range says.Retries {
					if r.Ref != (object.Ref{}) || r.Err == nil || r.In <= 0 || r.Left > 30*time.Second {
						t.Errorf("reported %+v", r)
					}
				}
			})
		})
	}
}

// Edge case 28: a server that shuts down still answers earlier requests. That does not end the
// outage, which is reported as one.
func TestAnswerToAnEarlierRequestDoesNotEndAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(12 * time.Second)
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/slow") {
				time.Sleep(3 * time.Second)
			} else if time.Now().Before(back) {
				return nil, clienttest.ErrRefused
			}
			return clienttest.OK(req), nil
		})
		var wait sync.WaitGroup
		for _, name := range []string{"slow", "a", "b"} {
			wait.Go(func() {
				if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), name)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if len(says.Reachable) != 1 || says.Reachable[0].Before(back) {
			t.Errorf("reported at %v that the server is reachable, want once, after %v", says.Reachable, back)
		}
	})
}

// If a broken connection fails many requests at once, the failure is reported once.
func TestOneBrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broke := make(chan struct{})
		c, f, says := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
			if n == 1 && req.URL.Path != "/readyz" {
				<-broke
				return nil, io.EOF
			}
			time.Sleep(10 * time.Millisecond)
			return clienttest.OK(req), nil
		})
		time.AfterFunc(time.Second, func() { close(broke) })
		if err := errors.Join(getMany(t.Context(), c, transport.MaxConcurrency)...); err != nil {
			t.Fatal(err)
		}
		if len(says.Retries) != 1 || says.Retries[0].Ref == (object.Ref{}) || f.Count("GET /readyz") != 1 {
			t.Errorf("reported %v, asked %v", says.Retries, f.Requests)
		}
	})
}

func TestOutageExceedsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, says := clienttest.New(t, func(int, *http.Request) (*http.Response, error) { return nil, clienttest.ErrRefused })
		began := time.Now()
		for _, err := range getMany(t.Context(), c, 100) {
			var gone *transport.UnreachableError
			if !errors.As(err, &gone) || gone.For != 30*time.Second || !errors.Is(err, syscall.ECONNREFUSED) || gone.Hint() == "" {
				t.Fatalf("error %v, want an UnreachableError after 30s", err)
			}
		}
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("gave up after %s, want 30s", took)
		}
		if len(says.Reachable) != 0 {
			t.Error("reported that the server is reachable")
		}
		before := len(f.Requests)
		if err := getMany(t.Context(), c, 1)[0]; err == nil || len(f.Requests) != before {
			t.Errorf("error %v after %d more requests, want an error without a request", err, len(f.Requests)-before)
		}
	})
}

func TestOutageTimeStartsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if at := time.Since(began); at < 20*time.Second || at > 40*time.Second && at < 60*time.Second {
				return nil, clienttest.ErrRefused
			}
			return clienttest.OK(req), nil
		})
		for range 2 {
			if err := getMany(t.Context(), c, 1)[0]; err != nil {
				t.Fatal(err)
			}
			time.Sleep(41*time.Second - time.Since(began))
		}
		if err := getMany(t.Context(), c, 1)[0]; err != nil {
			t.Fatal(err)
		}
	})
}

func TestInterruptedRequestDoesNotStopOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(15 * time.Second)
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if time.Now().Before(back) {
				return nil, clienttest.ErrRefused
			}
			return clienttest.OK(req), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var first error
		var wait sync.WaitGroup
		wait.Go(func() { _, first = c.Get(ctx, clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")) })
		synctest.Wait() // The first one looks for the server.
		if err := errors.Join(getMany(t.Context(), c, 20)...); err != nil {
			t.Errorf("others: %v, want them to wait on for the server", err)
		}
		wait.Wait()
		if !errors.Is(first, context.DeadlineExceeded) {
			t.Errorf("interrupted one: %v", first)
		}
		if len(says.Reachable) != 1 {
			t.Errorf("reported %d times that the server is reachable, want once", len(says.Reachable))
		}
	})
}

// A server that comes back accepts some clients before it has read the RBAC rules. The client waits
// until the server says that it is ready, but only for a limited time.
func TestStartingServer(t *testing.T) {
	tests := map[string]struct {
		away     time.Duration
		notReady time.Duration
		code     int
		at       time.Duration
	}{
		"starts":                      {away: 3 * time.Second, notReady: 6 * time.Second, code: 500, at: 6 * time.Second},
		"answers 429 at first":        {away: 3 * time.Second, notReady: 6 * time.Second, code: 429, at: 6 * time.Second},
		"answers 403 at first":        {away: 3 * time.Second, notReady: 6 * time.Second, code: 403, at: 6 * time.Second},
		"is never ready":              {away: 3 * time.Second, notReady: time.Hour, code: 500, at: 3*time.Second + clienttest.Settling},
		"was never away":              {notReady: time.Hour, code: 500},
		"forbids the readiness check": {notReady: time.Hour, code: 403},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c, _, _ := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
					switch at := time.Since(began); {
					case at < tt.away:
						return nil, clienttest.ErrRefused
					case req.URL.Path == "/readyz" && at < tt.notReady:
						return clienttest.Failure(tt.code, "", nil), nil
					case req.URL.Path != "/readyz" && tt.away == 0 && n == 1:
						return nil, io.EOF // one connection broke
					default:
						return clienttest.OK(req), nil
					}
				})
				if err := getMany(t.Context(), c, 1)[0]; err != nil {
					t.Fatal(err)
				}
				if at := time.Since(began); at < tt.at || at > tt.at+5*time.Second {
					t.Errorf("request at %s, want it soon after %s", at, tt.at)
				}
			})
		})
	}
}

func TestOutageWithoutServerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, _ := clienttest.NewFor(t, 0, func(int, *http.Request) (*http.Response, error) { return nil, clienttest.ErrRefused })
		err := getMany(t.Context(), c, 1)[0]
		if !errors.As(err, new(*transport.UnreachableError)) || len(f.Requests) != 1 {
			t.Errorf("error %v after %v", err, f.Requests)
		}
	})
}

// From the first request on, discovery waits for a cluster that is still starting.
func TestDiscoveryWaitsForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(20 * time.Second)
		c, f, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if time.Now().Before(back) {
				return nil, io.EOF
			}
			return clienttest.Discovered(req), nil
		})
		kind, err := c.Kind(t.Context(), clienttest.ConfigMaps().GVK)
		if err != nil || kind.Resource != "configmaps" {
			t.Fatalf("kind %v, error %v", kind, err)
		}
		// Without our retries, client-go would try ten times, with pauses of a second, before it
		// reports anything.
		if n := f.Count("GET /api"); n < 3 || n > 4 {
			t.Errorf("%d requests of discovery (%v), want /api and /apis, and a second one where the first failed", n, f.Requests)
		}
		if len(says.Retries) == 0 || says.Retries[0].Left != 30*time.Second || len(says.Reachable) != 1 {
			t.Errorf("reported retries %v and %d ends, want an immediate report and one end", says.Retries, len(says.Reachable))
		}
	})
}

func TestDiscoveryHonoursRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var once sync.Map
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if _, asked := once.LoadOrStore(req.URL.Path, true); !asked {
				return clienttest.Failure(429, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "3"), nil
			}
			return clienttest.Discovered(req), nil
		})
		if _, err := c.Kind(t.Context(), clienttest.ConfigMaps().GVK); err != nil {
			t.Fatal(err)
		}
		if len(says.Retries) != 2 || says.Retries[0].In != 3*time.Second || len(says.Reachable) != 1 {
			t.Errorf("reported %+v and %d ends, want a pause of 3s each for /api and /apis, and one end", says.Retries, len(says.Reachable))
		}
	})
}
