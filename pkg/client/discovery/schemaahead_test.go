package discovery_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// A prefetch that fails is neither reported nor repeated before its result is needed. Once it is
// needed, it is retried like other requests.
func TestPrefetchFailsSilently(t *testing.T) {
	sick := map[string]func(req *http.Request) (*http.Response, error){
		"busy": func(*http.Request) (*http.Response, error) {
			return clienttest.Failure(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, nil, "Retry-After", "5"), nil
		},
		"unavailable": func(*http.Request) (*http.Response, error) {
			return clienttest.HTML(http.StatusServiceUnavailable), nil
		},
		"internal": func(*http.Request) (*http.Response, error) {
			return clienttest.Failure(http.StatusInternalServerError, metav1.StatusReasonInternalError, nil), nil
		},
		"broken": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"silent": func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		},
	}
	gv := schema.GroupVersion{Group: "apps", Version: "v1"}
	document, where := "/openapi/v3/apis/apps/v1", "/openapi/v3"
	for name, answer := range sick {
		for _, path := range []string{where, document} {
			t.Run(name+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					well, sent := false, 0
					c, _, says := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
						switch {
						case req.URL.Path == path && !well:
							sent++
							return answer(req)
						case req.URL.Path == where:
							return clienttest.Reply(http.StatusOK, map[string]any{"paths": map[string]any{
								"apis/apps/v1": map[string]any{"serverRelativeURL": document + "?hash=1"},
							}}), nil
						case req.URL.Path == document:
							return clienttest.Reply(http.StatusOK, map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": map[string]any{
								"A": map[string]any{"x-kubernetes-group-version-kind": []any{map[string]any{"group": "apps", "version": "v1", "kind": "A"}}},
							}}}), nil
						}
						return clienttest.Text(http.StatusOK, "text/plain", "ok"), nil
					})
					schemas, expect, stop := c.SchemaAhead(t.Context())
					expect([]schema.GroupVersion{gv})
					defer stop()
					time.Sleep(5 * time.Minute) // as the objects take to be ready
					synctest.Wait()
					if sent != 1 {
						t.Errorf("sent %d times before its result was needed, want once", sent)
					}
					if len(says.Retries)+len(says.Stalls) > 0 {
						t.Errorf("reported before its result was needed: %v %v", says.Retries, says.Stalls)
					}
					well = true
					if s, _ := schemas(object.Kind{GVK: gv.WithKind("A")}); s == nil {
						t.Error("no schema, although the server is well now")
					}
				})
			})
		}
	}
}

// With low concurrency, there is no prefetch. If the prefetch hung, no other request could be sent.
func TestNoPrefetchAtLowConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &clienttest.Fake{Answer: func(_ int, req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}}
		c, err := client.New(client.Options{REST: &rest.Config{Host: "http://fake", Transport: f}, ServerTimeout: time.Minute, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, expect, stop := c.SchemaAhead(t.Context())
		expect([]schema.GroupVersion{{Group: "apps", Version: "v1"}})
		defer stop()
		synctest.Wait()
		if len(f.Requests) > 0 {
			t.Errorf("prefetch requests %v, want none", f.Requests)
		}
	})
}
