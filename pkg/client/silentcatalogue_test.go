package client

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
)

// If a healthy server does not answer one request about kinds or schemas, the client gives up about
// as soon as for an unreachable server (edge case 28).
func TestUnansweredDiscoveryRequest(t *testing.T) {
	asked := map[string]func(*testing.T, *Client) error{
		"Kind":   func(t *testing.T, c *Client) error { _, err := c.Kind(t.Context(), things.GVK); return err },
		"Schema": func(t *testing.T, c *Client) error { _, err := c.Schema(t.Context(), things); return err },
		"SchemaOnce": func(t *testing.T, c *Client) error {
			if s, _ := c.SchemaOnce(t.Context())(things); s == nil {
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
					s := &thingServer{served: now, there: now, sick: func(path string) bool { return path == test.path }, from: now, to: now.Add(time.Hour), fault: hang}
					c, f, says := newFakeFor(t, limit, func(_ int, req *http.Request) (*http.Response, error) { return s.published(req) })
					err := asked[test.ask](t, c)
					took := time.Since(now)
					if err == nil || took > most || took < min(limit, time.Minute) {
						t.Errorf("%v after %s, want an error after %s: %v", err, took, limit, f.seen)
					}
					for _, claim := range []string{"cannot be reached", "serves no"} {
						if err != nil && limit > 0 && strings.Contains(err.Error(), claim) {
							t.Errorf("unfounded claim in the error: %v", err)
						}
					}
					for _, s := range says.silences {
						if limit > 0 && s.within > max(limit, attemptLimit) || s.since > s.within {
							t.Errorf("reported a wait of %s out of %s, and the limit is %s", s.since, s.within, limit)
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
					s := &thingServer{served: now, there: now, sick: func(p string) bool { return p == path }, from: now, to: now.Add(time.Hour)}
					s.fault = func(req *http.Request) (*http.Response, error) {
						if asked++; asked > answers {
							return hang(req)
						}
						return failure(503, metav1.StatusReasonServiceUnavailable, nil), nil
					}
					c, f, _ := newFakeFor(t, 3*time.Second, func(_ int, req *http.Request) (*http.Response, error) { return s.published(req) })
					_, err := c.Kind(t.Context(), things.GVK)
					if err == nil {
						_, err = c.Schema(t.Context(), things)
					}
					if transport.StatusOf(err).Code != 503 && !strings.Contains(fmt.Sprint(err), "returned 503") {
						t.Errorf("%v, want what the server answered: %v", err, f.seen)
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
		s := &thingServer{served: now, there: now, sick: func(string) bool { return false }}
		c, _, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(req.URL.Path, "/openapi/v3") {
				time.Sleep(14 * time.Second)
			}
			return s.published(req)
		})
		if s, _ := c.SchemaOnce(t.Context())(things); s == nil {
			t.Errorf("no schema after %s", time.Since(now))
		}
	})
}

// published answers like answer, and also publishes the schema of Things.
func (s *thingServer) published(req *http.Request) (*http.Response, error) {
	if s.sick(req.URL.Path) {
		return s.answer(req)
	}
	switch req.URL.Path {
	case "/openapi/v3":
		return reply(200, map[string]any{"paths": map[string]any{
			"apis/example.com/v1": map[string]any{"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=1"},
		}}), nil
	case "/openapi/v3/apis/example.com/v1":
		return reply(200, map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": map[string]any{"Thing": map[string]any{
			"x-kubernetes-group-version-kind": []any{map[string]any{"group": "example.com", "version": "v1", "kind": "Thing"}},
		}}}}), nil
	}
	return s.answer(req)
}
