package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// sendings are the requests of a run. Each has its method and whether it is a write.
var sendings = map[string]struct {
	changes bool
	send    func(context.Context, *client.Client) error
}{
	"get": {send: func(ctx context.Context, c *client.Client) error {
		_, err := c.Get(ctx, clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
		return err
	}},
	"dry run": {send: func(ctx context.Context, c *client.Client) error {
		_, err := c.Apply(ctx, clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m", DryRun: true})
		return err
	}},
	"dry deletion": {send: func(ctx context.Context, c *client.Client) error {
		_, err := c.Delete(ctx, clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"), object.Deletion{DryRun: true})
		return err
	}},
	"unguarded": {send: func(ctx context.Context, c *client.Client) error {
		_, err := c.Apply(transport.Unguarded(ctx), clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
		return err
	}},
	"question": {send: func(ctx context.Context, c *client.Client) error {
		_, err := c.Permitted(ctx, clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"), "get")
		return err
	}},
	"create": {true, func(ctx context.Context, c *client.Client) error {
		_, err := c.Create(ctx, clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "configmaps"), object.Write{Manager: "m"})
		return err
	}},
	"merge": {true, func(ctx context.Context, c *client.Client) error {
		_, err := c.Merge(ctx, clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
		return err
	}},
	"apply": {true, func(ctx context.Context, c *client.Client) error {
		_, err := c.Apply(ctx, clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
		return err
	}},
	"update": {true, func(ctx context.Context, c *client.Client) error {
		_, err := c.Update(ctx, clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
		return err
	}},
	"managed fields": {true, func(ctx context.Context, c *client.Client) error {
		_, err := c.SetManagedFields(ctx, clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), []any{})
		return err
	}},
	"delete": {true, func(ctx context.Context, c *client.Client) error {
		_, err := c.Delete(ctx, clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"), object.Deletion{UID: "u"})
		return err
	}},
}

// A write that the guard refuses is not sent, and the caller gets the guard's error at once. The
// guard is not called for other requests.
func TestGuardRefuses(t *testing.T) {
	errLost := errors.New("the lock was lost")
	for name, s := range sendings {
		t.Run(name, func(t *testing.T) {
			l := newLoopback(t, true, func(_ int64, w http.ResponseWriter, req *http.Request) { writeAnswer(w, req) })
			c, says := l.client(t, client.Options{Guard: func(context.Context) error { return errLost }})
			err := s.send(t.Context(), c)
			var unreachable interface{ Unreachable() bool }
			var written interface{ MayBeWritten() bool }
			if errors.Is(err, errLost) != s.changes || errors.As(err, &unreachable) || errors.As(err, &written) || len(says.Retries) > 0 {
				t.Errorf("%v, reported %v", err, says.Retries)
				for _, r := range says.Retries {
					t.Logf("tried again after: %v", r.Err)
				}
			}
			if n := l.requests.Load(); (n == 0) != s.changes {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// The guard is called for each try of a write, including retries, and for no other request.
func TestGuardLetsPass(t *testing.T) {
	for name, s := range sendings {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			l := newLoopback(t, true, func(n int64, w http.ResponseWriter, req *http.Request) {
				if s.changes && n == 1 {
					hangUp(w)
				}
				writeAnswer(w, req)
			})
			c, _ := l.client(t, client.Options{Guard: func(context.Context) error { asked.Add(1); return nil }})
			if err := s.send(t.Context(), c); err != nil && name != "delete" {
				t.Error(err)
			}
			if n := asked.Load(); (n == 2) != s.changes || n > 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// writeAnswer allows access reviews, and answers other requests with an object.
func writeAnswer(w http.ResponseWriter, req *http.Request) {
	if !strings.HasSuffix(req.URL.Path, "/selfsubjectaccessreviews") {
		writeObject(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": true}}`)
}
