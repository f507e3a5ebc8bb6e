package cluster

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// A kind that is served no more in a version may be in another; then its objects are
// still there, and nobody is told that they can not be.
func TestKindMoved(t *testing.T) {
	for name, moved := range map[string]bool{"it is in v2": true, "it is gone": false} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
				switch {
				case req.URL.Path == "/apis":
					return text2response(http.StatusOK, "application/json", `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v2","version":"v2"}]}]}`), nil
				case req.URL.Path == "/apis/example.com/v2" && moved:
					return text2response(http.StatusOK, "application/json", `{"kind":"APIResourceList","groupVersion":"example.com/v2","resources":[{"name":"widgets","kind":"Widget"}]}`), nil
				default:
					return text2response(http.StatusNotFound, "text/plain", "404 page not found"), nil
				}
			})
			gvk := watched.GVK
			gvk.Group, gvk.Version, gvk.Kind = "example.com", "v1", "Widget"
			err := c.Watch(t.Context(), object.Kind{GVK: gvk, Resource: "widgets"}, object.Selection{}, func(object.Change) {})
			if !meta.IsNoMatchError(err) || (errors.Unwrap(err) != nil) != moved {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// Whether a kind is not served is for the server's list of kinds to say, not for a 404 to
// something else, which anything on the way may answer. The list of a definition that was
// deleted lags behind.
func TestKindStillListed(t *testing.T) {
	for name, listed := range map[string]int{"for good": 1 << 30, "for a while": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				c, _, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
					switch req.URL.Path {
					case "/apis":
						return text2response(http.StatusOK, "application/json", `{"apiVersion":"v1","kind":"APIGroupList","groups":[{"name":"apps"}]}`), nil
					case "/api/v1":
						if asked++; asked <= listed {
							return text2response(http.StatusOK, "application/json", `{"apiVersion":"v1","kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}`), nil
						}
						return text2response(http.StatusOK, "application/json", `{"apiVersion":"v1","kind":"APIResourceList","groupVersion":"v1","resources":[]}`), nil
					default:
						return text2response(http.StatusNotFound, "text/plain", "404 page not found"), nil
					}
				})
				err := c.Watch(t.Context(), configMaps, object.Selection{Namespace: "default"}, func(object.Change) {})
				if isSilent := errors.As(err, new(*noAnswerError)); !meta.IsNoMatchError(err) || isSilent != (listed > 3) {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

func TestSameGroup(t *testing.T) {
	for _, c := range []struct {
		typed, group string
		want         bool
	}{
		{"apps", "apps", true},
		{"v1.apps", "apps", true},
		{"aps", "apps", true},
		{"v1", "", true},
		{"v1.", "", true},
		{"v1.dev.example.com", "dev.example.com", true},
		{"dev.example.com", "example.com", false},
		{"example.com", "", false},
	} {
		if got := sameGroup(c.typed, c.group); got != c.want {
			t.Errorf("%s, %s: %t", c.typed, c.group, got)
		}
	}
}
