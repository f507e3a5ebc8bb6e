package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

func inCatalogue(path string) bool {
	return !strings.Contains(path, "/namespaces/") && path != "/readyz"
}

func inObjects(path string) bool { return strings.Contains(path, "/namespaces/") }

func everywhere(string) bool { return true }

// thingWait waits for the Thing, and returns the result.
func thingWait(t *testing.T, s *clienttest.ThingServer, kind object.Kind, timeout time.Duration) (result event.Waited, waiting []string, took time.Duration, err error) {
	t.Helper()
	c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) { return s.Answer(req) })
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
var later = object.Kind{GVK: clienttest.Things().GVK, Namespaced: true}

var passing = map[string]func(*http.Request) (*http.Response, error){
	"500": func(*http.Request) (*http.Response, error) {
		return clienttest.Failure(500, metav1.StatusReasonInternalError, nil), nil
	},
	"503": func(*http.Request) (*http.Response, error) {
		return clienttest.Failure(503, metav1.StatusReasonServiceUnavailable, nil), nil
	},
	"504": func(*http.Request) (*http.Response, error) {
		return clienttest.Failure(504, metav1.StatusReasonTimeout, nil), nil
	},
	"429": func(*http.Request) (*http.Response, error) {
		return clienttest.Failure(429, metav1.StatusReasonTooManyRequests, nil), nil
	},
	"a gateway's 502": func(*http.Request) (*http.Response, error) { return clienttest.HTML(502), nil },
	"a gateway's 503": func(*http.Request) (*http.Response, error) { return clienttest.HTML(503), nil },
	"a gateway's 404": func(*http.Request) (*http.Response, error) {
		return clienttest.Text(404, "text/plain", "404 page not found"), nil
	},
	"connection refused": func(*http.Request) (*http.Response, error) { return nil, clienttest.ErrRefused },
	"connection reset":   func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNRESET },
	"a proxy's {}":       func(*http.Request) (*http.Response, error) { return clienttest.Reply(200, map[string]any{}), nil },
	"half an answer": func(*http.Request) (*http.Response, error) {
		return clienttest.Text(200, "application/json", `{"kind":"A`), nil
	},
	"silence": clienttest.Hang,
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
			"the object is created during a watch":             {clienttest.Things(), inObjects, 0, 10},
			"the object is created while every request fails":  {clienttest.Things(), everywhere, 0, 10},
			"the object is created after every request failed": {clienttest.Things(), everywhere, 0, 18},
		} {
			t.Run(name+", "+stage, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
					s := &clienttest.ThingServer{Served: at(test.served), There: at(test.there), Sick: test.sick, From: at(4), To: at(14), Fault: fault}
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
		for stage, kind := range map[string]object.Kind{"the kind": later, "the list": clienttest.Things()} {
			t.Run(fmt.Sprint(code, ", ", stage), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					s := &clienttest.ThingServer{Served: now, There: now.Add(time.Minute), Sick: everywhere, From: now, To: now.Add(time.Hour), Fault: func(*http.Request) (*http.Response, error) {
						return clienttest.Failure(code, map[int]metav1.StatusReason{401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden}[code], nil), nil
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
			"the objects": {clienttest.Things(), inObjects},
			"all":         {later, everywhere},
		} {
			t.Run(name+", "+stage, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					s := &clienttest.ThingServer{Served: now.Add(-time.Hour), There: now.Add(time.Hour), Sick: test.sick, From: now.Add(4 * time.Second), To: now.Add(time.Hour), Fault: fault}
					if test.kind.Resource == "" {
						s.Served = now.Add(time.Hour)
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
