package discovery_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

const (
	widgetsList = `{"kind":"APIResourceList","groupVersion":"%s","resources":[{"name":"widgets","kind":"Widget","namespaced":true}]}`
	emptyList   = `{"kind":"APIResourceList","groupVersion":"%s","resources":[]}`
)

// Before the client reports that the objects of a kind are gone, all answers about what the server
// serves must agree, because a caller may be waiting for the objects to go. A single answer may
// come from a proxy.
func TestKindIsGone(t *testing.T) {
	// The expected hint for each answer. Answers that are not listed here have no hint.
	const (
		group, groups  = `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[%s]},{"name":"apps"}]}`, "/apis"
		v1, v2         = `{"groupVersion":"example.com/v1","version":"v1"}`, `{"groupVersion":"example.com/v2","version":"v2"}`
		listV1, listV2 = "/apis/example.com/v1", "/apis/example.com/v2"
	)
	widgetsIn := func(v string) string { return fmt.Sprintf(widgetsList, "example.com/"+v) }
	noneIn := func(v string) string { return fmt.Sprintf(emptyList, "example.com/"+v) }
	gone := map[string]map[string]string{
		"the whole group is gone":   {groups: fmt.Sprintf(group, "")},
		"the whole version is gone": {groups: fmt.Sprintf(group, v2), listV2: noneIn("v2")},
		"alone":                     {groups: fmt.Sprintf(group, v1), listV1: noneIn("v1")},
		"only the kind is gone, from two versions": {groups: fmt.Sprintf(group, v1+","+v2), listV1: noneIn("v1"), listV2: noneIn("v2")},
	}
	unsure := map[string]map[string]string{
		"the kind is listed":        {groups: fmt.Sprintf(group, v1), listV1: widgetsIn("v1")},
		"its version is listed":     {groups: fmt.Sprintf(group, v1)},
		"another version is listed": {groups: fmt.Sprintf(group, v2)},
		"in another version":        {groups: fmt.Sprintf(group, v2), listV2: widgetsIn("v2")},
		"no groups":                 {},
	}
	check := func(name string, found map[string]string, want bool) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
					if text, ok := found[req.URL.Path]; ok {
						return clienttest.Text(http.StatusOK, "application/json", text), nil
					}
					return clienttest.Text(http.StatusNotFound, "text/plain", "404 page not found"), nil
				})
				gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
				kind := object.Kind{GVK: gvk, Resource: "widgets", Namespaced: true}
				err := c.Watch(t.Context(), kind, object.Selection{Namespace: "default"}, func(object.Change) {})
				if !meta.IsNoMatchError(err) || (errors.Unwrap(err) == nil) != want {
					t.Errorf("a watch ended with %v", err)
				}
				_, err = c.Get(t.Context(), kind, object.Ref{GVK: gvk, Namespace: "default", Name: "a"})
				if name != "the kind is listed" && (!meta.IsNoMatchError(err) || (errors.Unwrap(err) == nil) != want) {
					t.Errorf("a read ended with %v", err)
				}
			})
		})
	}
	for name, found := range gone {
		check(name, found, true)
	}
	for name, found := range unsure {
		check(name, found, false)
	}
}

// The server lists its kinds in several places. When a CRD is deleted, these places change at
// different times.
func TestDeletedKindWithLaggingLists(t *testing.T) {
	for name, lagging := range map[string]string{
		"the kinds":  "/apis/example.com/v1",
		"the groups": "/apis",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
					behind := req.URL.Path == lagging && n < 4
					switch {
					case req.URL.Path == "/apis" && (behind || lagging == "/apis/example.com/v1" && n < 3):
						return clienttest.Text(http.StatusOK, "application/json", `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}]}]}`), nil
					case req.URL.Path == "/apis":
						return clienttest.Text(http.StatusOK, "application/json", `{"kind":"APIGroupList","groups":[{"name":"apps"}]}`), nil
					case behind:
						return clienttest.Text(http.StatusOK, "application/json", fmt.Sprintf(widgetsList, "example.com/v1")), nil
					default:
						return clienttest.Text(http.StatusNotFound, "text/plain", "404 page not found"), nil
					}
				})
				gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
				err := c.Watch(t.Context(), object.Kind{GVK: gvk, Resource: "widgets"}, object.Selection{}, func(object.Change) {})
				if !meta.IsNoMatchError(err) || errors.Unwrap(err) != nil {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// The places where the server lists its kinds also change at different times when a CRD is created:
// the group is listed, but its version is not found yet. The client still reports the version that
// is served.
func TestUnservedKindWithLaggingLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			switch req.URL.Path {
			case "/apis":
				return clienttest.Text(http.StatusOK, "application/json", `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}]}]}`), nil
			case "/apis/example.com/v1":
				if asked++; asked > 3 {
					return clienttest.Text(http.StatusOK, "application/json", fmt.Sprintf(widgetsList, "example.com/v1")), nil
				}
			}
			return clienttest.Text(http.StatusNotFound, "text/plain", "404 page not found"), nil
		})
		err := c.Unserved(t.Context(), schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Widget"})
		if want := "this server has Widget in example.com/v1"; !meta.IsNoMatchError(err) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
	})
}

// The list of groups never contains the core group, which every server has.
func TestCoreKindIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/apis" {
				return clienttest.Discovered(req), nil
			}
			return clienttest.Text(http.StatusNotFound, "text/plain", "404 page not found"), nil
		})
		err := c.Watch(t.Context(), clienttest.ConfigMaps(), object.Selection{Namespace: "default"}, func(object.Change) {})
		var unanswered interface{ Unreachable() bool }
		if !meta.IsNoMatchError(err) || !errors.As(err, &unanswered) {
			t.Errorf("ended with %v", err)
		}
	})
}
