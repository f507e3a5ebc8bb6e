package client_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

func TestSelect(t *testing.T) {
	tests := map[string]struct {
		which  object.Selection
		fields string
		answer func(n int, req *http.Request) *http.Response
		want   []string
		path   string
		params map[string]string
		bad    bool
	}{
		"pages": {
			which: object.Selection{Namespace: "prod", Labels: "a=b"},
			answer: func(_ int, req *http.Request) *http.Response {
				if req.URL.Query().Get("continue") == "" {
					return clienttest.Reply(http.StatusOK, clienttest.Items("more", "a", "b"))
				}
				return clienttest.Reply(http.StatusOK, clienttest.Items("", "c"))
			},
			want: []string{"a", "b", "c"}, path: "/api/v1/namespaces/prod/configmaps",
			params: map[string]string{"labelSelector": "a=b", "limit": "500", "continue": "more"},
		},
		"all namespaces, by name and field": {
			which: object.Selection{Name: "a", Fields: "reason=x"}, fields: "type!=Normal",
			answer: func(int, *http.Request) *http.Response {
				return clienttest.Reply(http.StatusOK, clienttest.Items("", "a"))
			},
			want: []string{"a"}, path: "/api/v1/configmaps",
			params: map[string]string{"fieldSelector": "metadata.name=a,reason=x,type!=Normal", "limit": "500"},
		},
		"a page that is too old": {
			which: object.Selection{Namespace: "prod"},
			answer: func(n int, req *http.Request) *http.Response {
				switch {
				case n == 1:
					return clienttest.Reply(http.StatusOK, clienttest.Items("more", "a"))
				case req.URL.Query().Get("continue") != "":
					return clienttest.Failure(http.StatusGone, metav1.StatusReasonExpired, nil)
				}
				return clienttest.Reply(http.StatusOK, clienttest.Items("", "a", "b"))
			},
			want: []string{"a", "a", "b"}, path: "/api/v1/namespaces/prod/configmaps",
			params: map[string]string{"limit": "500"},
		},
		"forbidden": {
			which: object.Selection{Namespace: "prod"},
			answer: func(int, *http.Request) *http.Response {
				return clienttest.Failure(http.StatusForbidden, metav1.StatusReasonForbidden, nil)
			},
			path: "/api/v1/namespaces/prod/configmaps", params: map[string]string{"limit": "500"}, bad: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var last *http.Request
			c, _, _ := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
				last = req
				return tt.answer(n, req), nil
			})
			c.Know(clienttest.ConfigMaps(), false)
			var got []string
			err := c.Select(t.Context(), clienttest.ConfigMaps().GVK, tt.which, tt.fields, func(u *unstructured.Unstructured) {
				if u.GroupVersionKind() != clienttest.ConfigMaps().GVK {
					t.Errorf("%s is of kind %s", u.GetName(), u.GroupVersionKind())
				}
				got = append(got, u.GetName())
			})
			if (err != nil) != tt.bad {
				t.Fatalf("error %v", err)
			}
			params := map[string]string{}
			for param, values := range last.URL.Query() {
				params[param] = values[0]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("visited (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.params, params); diff != "" || last.URL.Path != tt.path {
				t.Errorf("%s (-want +got):\n%s", last.URL.Path, diff)
			}
		})
	}
}

// The values of a Secret are not requested.
func TestExists(t *testing.T) {
	tests := map[string]struct {
		answer *http.Response
		want   bool
		bad    bool
	}{
		"there":     {answer: clienttest.Reply(http.StatusOK, clienttest.VersionOf("a", "u", "1")), want: true},
		"not there": {answer: clienttest.Failure(http.StatusNotFound, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: "a", Kind: "configmaps"})},
		"forbidden": {answer: clienttest.Failure(http.StatusForbidden, metav1.StatusReasonForbidden, nil), bad: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
				if got := req.Header.Values("Accept"); len(got) != 1 || got[0] != "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" {
					t.Errorf("asked for %q", got)
				}
				return tt.answer, nil
			})
			c.Know(clienttest.ConfigMaps(), false)
			got, err := c.Exists(t.Context(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
			if got != tt.want || (err != nil) != tt.bad {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
