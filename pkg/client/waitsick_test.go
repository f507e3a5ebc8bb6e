package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

var things = object.Kind{
	GVK:      schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"},
	Resource: "things", Namespaced: true, Verbs: []string{"get", "list", "watch"},
}

// thingServer is a server that serves the kind Thing from one moment on, and has a Thing from
// another moment on. Either discovery or requests for objects fail for a while.
type thingServer struct {
	served, there time.Time
	sick          func(path string) bool
	from, to      time.Time
	fault         func(*http.Request) (*http.Response, error)
}

const thingsPath = "/apis/example.com/v1/namespaces/prod/things"

func (s *thingServer) answer(req *http.Request) (*http.Response, error) {
	path, now := req.URL.Path, time.Now()
	if s.sick(path) && !now.Before(s.from) && now.Before(s.to) {
		return s.fault(req)
	}
	served := !now.Before(s.served)
	groups := []string{"apps"}
	if served {
		groups = append(groups, things.GVK.Group)
	}
	if message := catalogueOf(path, groups...); message != nil {
		return message, nil
	}
	switch {
	case path == thingsPath && served && req.URL.Query().Has("watch"):
		return s.watch(req), nil
	case path == thingsPath && served:
		items := []any{}
		if !now.Before(s.there) {
			items = append(items, thing())
		}
		return reply(200, map[string]any{
			"apiVersion": "example.com/v1", "kind": "ThingList", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		}), nil
	default:
		return failure(404, metav1.StatusReasonNotFound, nil), nil
	}
}

// catalogueOf returns the answer of a healthy server at a path of discovery; nil at other paths.
// Each group has the kind Thing at v1.
func catalogueOf(path string, groups ...string) *http.Response {
	gv := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	switch {
	case path == "/readyz":
		return text2response(200, "text/plain", "ok")
	case path == "/api":
		return reply(200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/apis":
		all := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
		for _, name := range groups {
			gv := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
			all.Groups = append(all.Groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv})
		}
		return reply(200, all)
	case path == "/api/v1", strings.HasSuffix(gv, "/v1") && slices.Contains(groups, strings.TrimSuffix(gv, "/v1")):
		return reply(200, metav1.APIResourceList{TypeMeta: resourceList, GroupVersion: gv, APIResources: []metav1.APIResource{
			{Name: things.Resource, Kind: things.GVK.Kind, Namespaced: true, Verbs: things.Verbs},
		}})
	}
	return nil
}

func thing() map[string]any {
	u := newObject(things, "a")
	u.SetUID("u")
	u.SetResourceVersion("2")
	return u.Object
}

// watch is the answer to a watch. It stays open until requests for objects fail, and reports the
// object once the object exists.
func (s *thingServer) watch(req *http.Request) *http.Response {
	r, w := io.Pipe()
	context.AfterFunc(req.Context(), func() { _ = w.CloseWithError(context.Cause(req.Context())) })
	if now := time.Now(); s.sick(thingsPath) && now.Before(s.from) {
		time.AfterFunc(s.from.Sub(now), func() { _ = w.CloseWithError(syscall.ECONNRESET) })
	}
	time.AfterFunc(time.Until(s.there), func() {
		u := newObject(things, "a")
		u.Object = thing()
		text, err := u.MarshalJSON()
		if err == nil {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", text) // A watch that is over does not hear it.
		}
	})
	resp := text2response(200, "application/json", "")
	resp.Body, resp.ContentLength = r, -1
	return resp
}

func inCatalogue(path string) bool {
	return !strings.Contains(path, "/namespaces/") && path != "/readyz"
}
func inObjects(path string) bool { return strings.Contains(path, "/namespaces/") }
func everywhere(string) bool     { return true }

// thingWait waits for the Thing, and returns the result.
func thingWait(t *testing.T, s *thingServer, kind object.Kind, timeout time.Duration) (result event.Waited, waiting []string, took time.Duration, err error) {
	t.Helper()
	c, _, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) { return s.answer(req) })
	exists, err := condition.Parse("create")
	if err != nil {
		t.Fatal(err)
	}
	engine := wait.Engine{Source: c, Timeout: timeout, Emit: func(e event.Event) {
		switch e := e.(type) {
		case event.Waited:
			result = e
		case event.Waiting:
			waiting = append(waiting, e.For)
		}
	}}
	began := time.Now()
	err = engine.Run(t.Context(), []wait.Target{{
		Selection: object.Selection{Namespace: "prod", Name: "a"}, Kind: kind, Type: "things.example.com",
		Goal: &wait.Goal{For: []condition.Spec{exists}},
	}})
	return result, waiting, time.Since(began), err
}

// later is the kind Thing before the server serves it.
var later = object.Kind{GVK: things.GVK, Namespaced: true}

var passing = map[string]func(*http.Request) (*http.Response, error){
	"500": func(*http.Request) (*http.Response, error) {
		return failure(500, metav1.StatusReasonInternalError, nil), nil
	},
	"503": func(*http.Request) (*http.Response, error) {
		return failure(503, metav1.StatusReasonServiceUnavailable, nil), nil
	},
	"504": func(*http.Request) (*http.Response, error) { return failure(504, metav1.StatusReasonTimeout, nil), nil },
	"429": func(*http.Request) (*http.Response, error) {
		return failure(429, metav1.StatusReasonTooManyRequests, nil), nil
	},
	"a gateway's 502": func(*http.Request) (*http.Response, error) { return stranger(502), nil },
	"a gateway's 503": func(*http.Request) (*http.Response, error) { return stranger(503), nil },
	"a gateway's 404": func(*http.Request) (*http.Response, error) {
		return text2response(404, "text/plain", "404 page not found"), nil
	},
	"connection refused": func(*http.Request) (*http.Response, error) { return nil, errRefused },
	"connection reset":   func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNRESET },
	"a proxy's {}":       func(*http.Request) (*http.Response, error) { return reply(200, map[string]any{}), nil },
	"half an answer": func(*http.Request) (*http.Response, error) {
		return text2response(200, "application/json", `{"kind":"A`), nil
	},
	"silence": hang,
}

// A transient failure of any request does not end a wait within the server timeout. A final failure
// ends it at once.
func TestWaitRetriesAllRequests(t *testing.T) {
	for name, fault := range passing {
		for stage, test := range map[string]struct {
			kind object.Kind
			sick func(string) bool
			// served and there are the seconds after which the kind is served and the object
			// exists. The fault lasts from second 4 to second 14.
			served, there int
		}{
			"the kind is created during the failure":        {later, inCatalogue, 10, 10},
			"the kind is created after the failure":         {later, inCatalogue, 16, 18},
			"the kind is created while every request fails": {later, everywhere, 10, 10},
			"the list fails":                                   {later, inObjects, 5, 5},
			"the object is created during a watch":             {things, inObjects, 0, 10},
			"the object is created while every request fails":  {things, everywhere, 0, 10},
			"the object is created after every request failed": {things, everywhere, 0, 18},
		} {
			t.Run(name+", "+stage, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
					s := &thingServer{served: at(test.served), there: at(test.there), sick: test.sick, from: at(4), to: at(14), fault: fault}
					got, waiting, took, err := thingWait(t, s, test.kind, 2*time.Minute)
					if err != nil || got.Action != event.Met || took > 40*time.Second && name != "silence" { // A list waits two minutes.
						t.Errorf("%s after %s: %v, %v", got.Action, took, err, got.Err)
					}
					if test.kind.Resource != "" && len(waiting) > 0 && name != "a gateway's 404" {
						t.Errorf("reported that the kind is missing: %q", waiting)
					}
				})
			})
		}
	}
	for _, code := range []int{401, 403} {
		for stage, kind := range map[string]object.Kind{"the kind": later, "the list": things} {
			t.Run(fmt.Sprint(code, ", ", stage), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					s := &thingServer{served: now, there: now.Add(time.Minute), sick: everywhere, from: now, to: now.Add(time.Hour), fault: func(*http.Request) (*http.Response, error) {
						return failure(code, map[int]metav1.StatusReason{401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden}[code], nil), nil
					}}
					got, _, took, err := thingWait(t, s, kind, 2*time.Minute)
					if got.Action != event.Unknown || took > time.Second {
						t.Errorf("%s after %s: %v, %v", got.Action, took, err, got.Err)
					}
				})
			})
		}
	}
}

// If a wait times out while the server fails, its result is unknown. It does not report that the
// object does not exist.
func TestWaitTimesOutWhileServerFails(t *testing.T) {
	for name, fault := range passing {
		for stage, test := range map[string]struct {
			kind object.Kind
			sick func(string) bool
		}{
			"the kind":    {later, inCatalogue},
			"the objects": {things, inObjects},
			"all":         {later, everywhere},
		} {
			t.Run(name+", "+stage, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					s := &thingServer{served: now.Add(-time.Hour), there: now.Add(time.Hour), sick: test.sick, from: now.Add(4 * time.Second), to: now.Add(time.Hour), fault: fault}
					if test.kind.Resource == "" {
						s.served = now.Add(time.Hour)
					}
					got, _, took, err := thingWait(t, s, test.kind, 12*time.Second)
					var unmet *wait.UnmetError
					if !errors.As(err, &unmet) || unmet.Unknown != 1 || got.Action != event.Unknown {
						t.Errorf("%s after %s: %v, %q", got.Action, took, err, got.Note)
					}
					if got.Err != nil && strings.Contains(got.Err.Error(), "context") {
						t.Errorf("the reason mentions the context: %q", got.Err)
					}
				})
			})
		}
	}
}
