package clienttest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Things returns the kind Thing.
func Things() object.Kind {
	return object.Kind{
		GVK:      schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"},
		Resource: "things", Namespaced: true, Verbs: []string{"get", "list", "watch"},
	}
}

// ThingServer is a server that serves the kind Thing from one moment on, and has a Thing from
// another moment on. Either discovery or requests for objects fail for a while.
type ThingServer struct {
	Served, There time.Time
	Sick          func(path string) bool
	From, To      time.Time
	Fault         func(*http.Request) (*http.Response, error)
}

// ThingsPath is the path of the Things in the namespace prod.
const ThingsPath = "/apis/example.com/v1/namespaces/prod/things"

// Answer answers a request.
func (s *ThingServer) Answer(req *http.Request) (*http.Response, error) {
	path, now := req.URL.Path, time.Now()
	if s.Sick(path) && !now.Before(s.From) && now.Before(s.To) {
		return s.Fault(req)
	}
	served := !now.Before(s.Served)
	groups := []string{"apps"}
	if served {
		groups = append(groups, Things().GVK.Group)
	}
	if message := CatalogueOf(path, groups...); message != nil {
		return message, nil
	}
	switch {
	case path == ThingsPath && served && req.URL.Query().Has("watch"):
		return s.watch(req), nil
	case path == ThingsPath && served:
		items := []any{}
		if !now.Before(s.There) {
			items = append(items, thing())
		}
		return Reply(200, map[string]any{
			"apiVersion": "example.com/v1", "kind": "ThingList", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		}), nil
	default:
		return Failure(404, metav1.StatusReasonNotFound, nil), nil
	}
}

// Published answers like Answer, and also publishes the schema of Things.
func (s *ThingServer) Published(req *http.Request) (*http.Response, error) {
	if s.Sick(req.URL.Path) {
		return s.Answer(req)
	}
	switch req.URL.Path {
	case "/openapi/v3":
		return Reply(200, map[string]any{"paths": map[string]any{
			"apis/example.com/v1": map[string]any{"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=1"},
		}}), nil
	case "/openapi/v3/apis/example.com/v1":
		return Reply(200, map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": map[string]any{"Thing": map[string]any{
			"x-kubernetes-group-version-kind": []any{map[string]any{"group": "example.com", "version": "v1", "kind": "Thing"}},
		}}}}), nil
	}
	return s.Answer(req)
}

func thing() map[string]any {
	u := NewObject(Things(), "a")
	u.SetUID("u")
	u.SetResourceVersion("2")
	return u.Object
}

// watch is the answer to a watch. It stays open until requests for objects fail, and reports the
// object once the object exists.
func (s *ThingServer) watch(req *http.Request) *http.Response {
	r, w := io.Pipe()
	context.AfterFunc(req.Context(), func() { _ = w.CloseWithError(context.Cause(req.Context())) })
	if now := time.Now(); s.Sick(ThingsPath) && now.Before(s.From) {
		time.AfterFunc(s.From.Sub(now), func() { _ = w.CloseWithError(syscall.ECONNRESET) })
	}
	time.AfterFunc(time.Until(s.There), func() {
		u := NewObject(Things(), "a")
		u.Object = thing()
		text, err := u.MarshalJSON()
		if err == nil {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", text) // A watch that is over does not hear it.
		}
	})
	resp := Text(200, "application/json", "")
	resp.Body, resp.ContentLength = r, -1
	return resp
}
