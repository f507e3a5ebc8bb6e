package discovery_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// If a healthy server does not answer one request about kinds or schemas, the client gives up about
// as soon as for an unreachable server (edge case 28).
func TestUnansweredDiscoveryRequest(t *testing.T) {
	asked := map[string]func(*testing.T, *client.Client) error{
		"Kind": func(t *testing.T, c *client.Client) error {
			_, err := c.Kind(t.Context(), clienttest.Things().GVK)
			return err
		},
		"Schema": func(t *testing.T, c *client.Client) error {
			_, err := c.Schema(t.Context(), clienttest.Things())
			return err
		},
		"SchemaOnce": func(t *testing.T, c *client.Client) error {
			if s, _ := c.SchemaOnce(t.Context())(clienttest.Things()); s == nil {
				return fmt.Errorf("no schema")
			}
			return nil
		},
	}
	const index, document = "/openapi/v3", "/openapi/v3/apis/example.com/v1"
	for _, test := range []struct{ ask, path string }{
		{"Kind", "/api"},
		{"Kind", "/apis"},
		{"Kind", "/apis/example.com/v1"},
		{"Schema", index},
		{"Schema", document},
		{"SchemaOnce", index},
		{"SchemaOnce", document},
	} {
		for limit, most := range map[time.Duration]time.Duration{
			0:               25 * time.Second, // two questions
			2 * time.Second: 4 * time.Second, 30 * time.Second: 40 * time.Second, 10 * time.Minute: 10*time.Minute + 12*time.Second,
		} {
			t.Run(fmt.Sprintf("%s, %s, %s", test.ask, test.path, limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					s := &clienttest.ThingServer{Served: now, There: now, Sick: func(path string) bool { return path == test.path }, From: now, To: now.Add(time.Hour), Fault: clienttest.Hang}
					c, f, says := clienttest.NewFor(t, limit, func(_ int, req *http.Request) (*http.Response, error) { return s.Published(req) })
					err := asked[test.ask](t, c)
					took := time.Since(now)
					if err == nil || took > most || took < min(limit, time.Minute) {
						t.Errorf("%v after %s, want an error after %s: %v", err, took, limit, f.Requests)
					}
					for _, claim := range []string{"cannot be reached", "serves no"} {
						if err != nil && limit > 0 && strings.Contains(err.Error(), claim) {
							t.Errorf("unfounded claim in the error: %v", err)
						}
					}
					for _, s := range says.Stalls {
						if limit > 0 && s.Within > max(limit, clienttest.AttemptLimit) || s.Since > s.Within {
							t.Errorf("reported a wait of %s out of %s, and the limit is %s", s.Since, s.Within, limit)
						}
					}
				})
			})
		}
	}
}

// If a server first answers with an error and then does not answer, the error is reported.
func TestErrorBeforeSilenceIsReported(t *testing.T) {
	for _, path := range []string{"/apis", "/apis/example.com/v1", "/openapi/v3"} {
		for answers := 2; answers < 6; answers++ { // One of them may be to a question that is asked once.
			t.Run(fmt.Sprintf("%s, %d answers", path, answers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now, asked := time.Now(), 0
					s := &clienttest.ThingServer{Served: now, There: now, Sick: func(p string) bool { return p == path }, From: now, To: now.Add(time.Hour)}
					s.Fault = func(req *http.Request) (*http.Response, error) {
						if asked++; asked > answers {
							return clienttest.Hang(req)
						}
						return clienttest.Failure(503, metav1.StatusReasonServiceUnavailable, nil), nil
					}
					c, f, _ := clienttest.NewFor(t, 3*time.Second, func(_ int, req *http.Request) (*http.Response, error) { return s.Published(req) })
					_, err := c.Kind(t.Context(), clienttest.Things().GVK)
					if err == nil {
						_, err = c.Schema(t.Context(), clienttest.Things())
					}
					if transport.StatusOf(err).Code != 503 && !strings.Contains(fmt.Sprint(err), "returned 503") {
						t.Errorf("%v, want what the server answered: %v", err, f.Requests)
					}
				})
			})
		}
	}
}

// An answer that is slow, but within the time limit, is used.
func TestSlowSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		s := &clienttest.ThingServer{Served: now, There: now, Sick: func(string) bool { return false }}
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(req.URL.Path, "/openapi/v3") {
				time.Sleep(14 * time.Second)
			}
			return s.Published(req)
		})
		if s, _ := c.SchemaOnce(t.Context())(clienttest.Things()); s == nil {
			t.Errorf("no schema after %s", time.Since(now))
		}
	})
}
