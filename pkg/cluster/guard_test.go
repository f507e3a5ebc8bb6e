package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// sentry is a guard as a test has it.
type sentry struct {
	mu      sync.Mutex
	refuses error
	// stale is how often a write is found to have waited too long.
	stale   int
	begun   int
	answers []bool
}

func (s *sentry) Begin(context.Context) (time.Duration, func(bool), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses != nil {
		return 0, nil, s.refuses
	}
	s.begun++
	return 7 * time.Second, func(answered bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answers = append(s.answers, answered)
	}, nil
}

func (s *sentry) Fresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale > 0 {
		s.stale--
		return false
	}
	return true
}

// what a run may send to the server, as a method and whether it changes something.
var sendings = map[string]struct {
	changes bool
	send    func(context.Context, *Client) error
}{
	"get": {send: func(ctx context.Context, c *Client) error {
		_, err := c.Get(ctx, configMaps, refTo(configMaps, "a"))
		return err
	}},
	"dry run": {send: func(ctx context.Context, c *Client) error {
		_, err := c.Apply(ctx, configMaps, newObject(configMaps, "a"), object.Write{Manager: "m", DryRun: true})
		return err
	}},
	"dry deletion": {send: func(ctx context.Context, c *Client) error {
		_, err := c.Delete(ctx, configMaps, refTo(configMaps, "a"), object.Deletion{DryRun: true})
		return err
	}},
	"unguarded": {send: func(ctx context.Context, c *Client) error {
		_, err := c.Apply(request.Unguarded(ctx), configMaps, newObject(configMaps, "a"), object.Write{Manager: "m"})
		return err
	}},
	"question": {send: func(ctx context.Context, c *Client) error {
		_, err := c.Permitted(ctx, configMaps, refTo(configMaps, "a"), "get")
		return err
	}},
	"create": {true, func(ctx context.Context, c *Client) error {
		_, err := c.Create(ctx, configMaps, newObject(configMaps, "configmaps"), object.Write{Manager: "m"})
		return err
	}},
	"merge": {true, func(ctx context.Context, c *Client) error {
		_, err := c.Merge(ctx, configMaps, newObject(configMaps, "a"), object.Write{Manager: "m"})
		return err
	}},
	"apply": {true, func(ctx context.Context, c *Client) error {
		_, err := c.Apply(ctx, configMaps, newObject(configMaps, "a"), object.Write{Manager: "m"})
		return err
	}},
	"update": {true, func(ctx context.Context, c *Client) error {
		_, err := c.Update(ctx, configMaps, newObject(configMaps, "a"), object.Write{Manager: "m"})
		return err
	}},
	"managed fields": {true, func(ctx context.Context, c *Client) error {
		_, err := c.SetManagedFields(ctx, configMaps, newObject(configMaps, "a"), []any{})
		return err
	}},
	"delete": {true, func(ctx context.Context, c *Client) error {
		_, err := c.Delete(ctx, configMaps, refTo(configMaps, "a"), object.Deletion{UID: "u"})
		return err
	}},
}

// No write that the guard refuses is sent, by any method, and the guard is asked about
// nothing else; the caller gets the guard's error at once.
func TestGuardRefuses(t *testing.T) {
	errLost := errors.New("the lock was lost")
	for name, s := range sendings {
		t.Run(name, func(t *testing.T) {
			l := newLoopback(t, true, func(_ int64, w http.ResponseWriter, req *http.Request) { writeAnswer(w, req) })
			c, says := l.client(t, Options{Guard: &sentry{refuses: errLost}})
			err := s.send(t.Context(), c)
			var unreachable interface{ Unreachable() bool }
			var written interface{ MayBeWritten() bool }
			if errors.Is(err, errLost) != s.changes || errors.As(err, &unreachable) || errors.As(err, &written) || len(says.retries) > 0 {
				t.Errorf("%v, reported %v", err, says.retries)
				for _, r := range says.retries {
					t.Logf("tried again after: %v", r.err)
				}
			}
			if n := l.requests.Load(); (n == 0) != s.changes {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// What the guard lets pass has its bound, and the guard hears whether it was answered.
func TestGuardLetsPass(t *testing.T) {
	for name, s := range sendings {
		t.Run(name, func(t *testing.T) {
			guard := &sentry{}
			l := newLoopback(t, true, func(n int64, w http.ResponseWriter, req *http.Request) {
				if got := req.URL.Query().Get("timeout"); (got == "7s") != s.changes {
					t.Errorf("bound %q", got)
				}
				if s.changes && n == 1 {
					hangUp(w)
				}
				writeAnswer(w, req)
			})
			c, _ := l.client(t, Options{Guard: guard})
			if err := s.send(t.Context(), c); err != nil && name != "delete" {
				t.Error(err)
			}
			if s.changes && (len(guard.answers) != 2 || guard.answers[0] || !guard.answers[1]) || !s.changes && guard.begun > 0 {
				t.Errorf("begun %d, answers %v", guard.begun, guard.answers)
			}
		})
	}
}

// A failure of the server leaves a write in doubt, because it may have been stored. That a webhook
// did not answer is the last word: it comes before.
func TestGuardHearsOfFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		code int
		said string
		want bool
	}{
		"a webhook": {500, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"Internal error occurred: failed calling webhook \"x\": refused"}`, true},
		"the store": {500, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"etcdserver: request timed out"}`, false},
		"a timeout": {504, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,"message":"Timeout: request did not complete"}`, false},
		"a gateway": {502, `Bad Gateway`, false},
		"a refusal": {403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`, true},
	} {
		guard := &sentry{}
		l := newLoopback(t, true, func(_ int64, w http.ResponseWriter, req *http.Request) {
			if req.Method != http.MethodPatch {
				writeAnswer(w, req)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(tt.code)
			_, _ = io.WriteString(w, tt.said)
		})
		c, _ := l.client(t, Options{Guard: guard}) // It tries once.
		_, err := c.Apply(t.Context(), configMaps, newObject(configMaps, "a"), object.Write{Manager: "m"})
		if err == nil || len(guard.answers) == 0 || guard.answers[0] != tt.want {
			t.Errorf("%s: answered %v, want %t (%v)", name, guard.answers, tt.want, err)
		}
		if tt.code == 500 && !strings.Contains(err.Error(), "webhook") && !strings.Contains(err.Error(), "etcdserver") {
			t.Errorf("%s: the answer was lost: %v", name, err)
		}
	}
}

// A write that waited so long for its connection that the guard would not let it pass any
// more is not carried out: it is begun anew, and arrives once.
func TestGuardOfAWriteThatWaited(t *testing.T) {
	for name, s := range sendings {
		for _, h2 := range []bool{true, false} {
			if !s.changes {
				continue
			}
			t.Run(name, func(t *testing.T) {
				guard := &sentry{stale: 2}
				var mu sync.Mutex
				whole := 0
				l := newLoopback(t, h2, func(_ int64, w http.ResponseWriter, req *http.Request) {
					if _, err := io.ReadAll(req.Body); err != nil {
						return
					}
					mu.Lock()
					whole++
					mu.Unlock()
					writeAnswer(w, req)
				})
				c, says := l.client(t, Options{Guard: guard})
				if err := s.send(t.Context(), c); err != nil {
					t.Error(err)
				}
				if whole != 1 || guard.begun < 2 || len(says.retries) > 0 {
					t.Errorf("arrived %d times, begun %d times, reported %v", whole, guard.begun, says.retries)
				}
			})
		}
	}
}

// writeAnswer answers a question with yes, and all else with an object.
func writeAnswer(w http.ResponseWriter, req *http.Request) {
	if !strings.HasSuffix(req.URL.Path, "/selfsubjectaccessreviews") {
		writeObject(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": true}}`)
}
