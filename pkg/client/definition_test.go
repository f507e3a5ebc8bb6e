package client_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// If the storage of a CRD's kind cannot be opened, that is ignored: the CRD is deleted soon, with
// one request, and without a message. TestDeleteDefinitionsOfUnusedKinds shows on a real
// API server why opening the storage helps.
func TestOpenStorageErrorsAreIgnored(t *testing.T) {
	ref := object.Ref{GVK: definitions.GVK, Name: "things.example.com"}
	definition := func(versions ...any) *http.Response {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"group": "example.com", "names": map[string]any{"kind": "Thing", "plural": "things"}, "versions": versions,
		}}}
		u.SetGroupVersionKind(definitions.GVK)
		u.SetName(ref.Name)
		u.SetUID("u")
		return clienttest.Reply(http.StatusOK, u)
	}
	version := func(name string, served, storage bool) any {
		return map[string]any{"name": name, "served": served, "storage": storage}
	}
	stored := func() *http.Response { return definition(version("v1", true, false), version("v2", true, true)) }
	forbidden := clienttest.Failure(http.StatusForbidden, metav1.StatusReasonForbidden, nil)
	opening := func() *http.Response {
		return clienttest.Failure(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "1")
	}
	type answer func(n int, req *http.Request) (*http.Response, error)
	always := func(a func() *http.Response) answer {
		return func(int, *http.Request) (*http.Response, error) { return a(), nil }
	}
	silent := func(_ int, req *http.Request) (*http.Response, error) { return clienttest.Hang(req) }
	whole := always(func() *http.Response { return clienttest.Reply(http.StatusOK, map[string]any{"items": []any{}}) })
	later := func(n int, _ *http.Request) (*http.Response, error) {
		if n < 4 {
			return opening(), nil
		}
		return clienttest.Reply(http.StatusOK, struct{}{}), nil
	}
	for name, tt := range map[string]struct {
		get, list answer
		version   string // of the lists
		lists     int    // -1: any number
		most      time.Duration
	}{
		"open":                                 {get: always(stored), list: whole, version: "v2", lists: 1},
		"opens":                                {get: always(stored), list: later, version: "v2", lists: 4, most: time.Second},
		"never opens":                          {get: always(stored), list: always(opening), version: "v2", lists: -1, most: client.OpenFor},
		"silent":                               {get: always(stored), list: silent, version: "v2", lists: 1, most: client.OpenFor},
		"no permission to list":                {get: always(stored), list: always(func() *http.Response { return forbidden }), version: "v2", lists: 1},
		"no permission to read the definition": {get: always(func() *http.Response { return forbidden })},
		"definition silent":                    {get: silent, most: client.OpenFor},
		"stored not served":                    {get: always(func() *http.Response { return definition(version("v1", true, false), version("v2", false, true)) }), list: whole, version: "v1", lists: 1},
		"nothing served":                       {get: always(func() *http.Response { return definition(version("v1", false, true)) })},
		"without any version":                  {get: always(func() *http.Response { return definition() })},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var deleted time.Duration
				c, f, says := clienttest.New(t, func(n int, req *http.Request) (*http.Response, error) {
					switch {
					case req.URL.Path == "/readyz":
						return clienttest.Text(http.StatusOK, "text/plain", "ok"), nil
					case req.Method == http.MethodDelete:
						deleted = time.Since(began)
						return clienttest.Reply(http.StatusOK, metav1.Status{
							TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Success", Details: &metav1.StatusDetails{Name: ref.Name},
						}), nil
					case req.URL.Path == "/apis/example.com/"+tt.version+"/things":
						return tt.list(n, req)
					default:
						return tt.get(n, req)
					}
				})
				if _, err := c.Delete(t.Context(), definitions, ref, object.Deletion{}); err != nil {
					t.Error(err)
				}
				lists := f.Count("GET /apis/example.com/")
				if f.Count("DELETE ") != 1 || deleted > tt.most || tt.lists >= 0 && lists != tt.lists {
					t.Errorf("deleted %d times, after %s and %d lists, want once, after %s at most and %d: %v",
						f.Count("DELETE "), deleted, lists, tt.most, tt.lists, f.Requests)
				}
				if len(says.Retries)+len(says.Stalls) > 0 {
					t.Errorf("reported retries %v and silences %v, want none", says.Retries, says.Stalls)
				}
			})
		})
	}
}

var definitions = object.Kind{
	GVK:      schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	Resource: "customresourcedefinitions", Verbs: []string{"get", "list"},
}
