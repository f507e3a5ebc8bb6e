package transport_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// Edge case 28: --server-timeout also applies to a server that accepts requests and never answers.
// It does not matter which request is the first.
func TestSilentServer(t *testing.T) {
	for name, send := range map[string]func(*testing.T, *client.Client) error{
		"GET":       func(t *testing.T, c *client.Client) error { return getMany(t.Context(), c, 1)[0] },
		"many GETs": func(t *testing.T, c *client.Client) error { return errors.Join(getMany(t.Context(), c, 50)...) },
		"discovery": func(t *testing.T, c *client.Client) error {
			_, err := c.Kind(t.Context(), clienttest.ConfigMaps().GVK)
			return err
		},
		"PATCH": func(t *testing.T, c *client.Client) error {
			_, err := c.Apply(t.Context(), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
			return err
		},
	} {
		for limit, most := range map[time.Duration]time.Duration{
			0:                15 * time.Second,
			3 * time.Second:  4 * time.Second,
			30 * time.Second: 31 * time.Second,
			10 * time.Minute: 10*time.Minute + time.Second,
		} {
			t.Run(name+", "+limit.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _, _ := clienttest.NewFor(t, limit, func(_ int, req *http.Request) (*http.Response, error) { return clienttest.Hang(req) })
					began := time.Now()
					err := send(t, c)
					var gone *transport.UnreachableError
					took := time.Since(began)
					if !errors.As(err, &gone) || gone.For != took {
						t.Errorf("error %v after %s, want an UnreachableError that names this time", err, took)
					}
					if took < limit || took > most {
						t.Errorf("gave up after %s, want %s", took, limit)
					}
				})
			})
		}
	}
}

// If a server is silent for a while and then answers, there is no error.
func TestSilenceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(17 * time.Second)
		c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if time.Now().Before(back) {
				return clienttest.Hang(req)
			}
			return clienttest.OK(req), nil
		})
		if err := errors.Join(getMany(t.Context(), c, 50)...); err != nil {
			t.Fatal(err)
		}
		if late := time.Since(back); late > 6*time.Second {
			t.Errorf("done %s after the server was back", late)
		}
		for _, r := range says.Retries {
			if r.Ref != (object.Ref{}) {
				t.Errorf("reported %+v, want only the outage", r)
			}
		}
		if len(says.Retries) == 0 {
			t.Error("nothing was reported")
		}
	})
}

// If the server is ready, a single request may take any time.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path != "/readyz" {
				time.Sleep(time.Minute)
			}
			return clienttest.OK(req), nil
		})
		if err := errors.Join(getMany(t.Context(), c, 3)...); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // The last report may be under way.
		if f.Count("GET /api") != 3 || len(says.Retries) != 0 {
			t.Errorf("requests %v, reported %v; want each once", f.Requests, says.Retries)
		}
		if n := f.Count("GET /readyz"); n == 0 || n > 8 {
			t.Errorf("checked readyz %d times, want 1 to 8 checks", n)
		}
		// Edge case 91: if a request takes long, that is reported soon and then repeatedly,
		// together with the maximum time.
		heard := map[object.Ref]time.Duration{}
		for _, s := range says.Stalls {
			if s.Since-heard[s.Ref] > 10*time.Second || s.Within != clienttest.AttemptLimit {
				t.Errorf("%v: reported after %s of %s, and before that after %s, want a report every 10s", s.Ref, s.Since, s.Within, heard[s.Ref])
			}
			heard[s.Ref] = s.Since
		}
		if len(heard) != 3 {
			t.Errorf("reported %d requests: %v", len(heard), says.Stalls)
		}
		for ref, last := range heard {
			if last < 50*time.Second {
				t.Errorf("%v: nothing was reported after %s", ref, last)
			}
		}
	})
}

// trickle is a body that delivers a byte per second.
type trickle struct {
	io.Reader
}

func (b trickle) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return b.Reader.Read(p[:1])
}

// A slow answer is not silence.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/readyz" {
				return clienttest.Hang(req)
			}
			resp := clienttest.OK(req)
			resp.Body = io.NopCloser(trickle{resp.Body})
			return resp, nil
		})
		if err := getMany(t.Context(), c, 1)[0]; err != nil {
			t.Fatal(err)
		}
		if f.Count("GET /readyz") != 0 {
			t.Errorf("requests %v", f.Requests)
		}
	})
}

// A silence that ended with an answer is not added to a later outage.
func TestPastSilenceDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			switch at := time.Since(began); {
			case at < time.Minute && req.URL.Path == "/readyz":
				return clienttest.Hang(req)
			case at < time.Minute:
				time.Sleep(17 * time.Second)
			case at < 80*time.Second:
				return nil, clienttest.ErrRefused
			}
			return clienttest.OK(req), nil
		})
		if err := getMany(t.Context(), c, 1)[0]; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - time.Since(began))
		if err := getMany(t.Context(), c, 1)[0]; err != nil {
			t.Error(err)
		}
	})
}
