package discovery_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// The API server dates its list of schemas to the second. A schema that is published in the second in
// which we or kubectl have stored the list is found, also in all later runs.
func TestSchemaPublishedWithinASecond(t *testing.T) {
	stored := map[string]func(t *testing.T, dir string, answer func(int, *http.Request) (*http.Response, error)){
		"by us": func(t *testing.T, dir string, answer func(int, *http.Request) (*http.Response, error)) {
			c, _, _ := onDisk(t, dir, answer)
			if s, err := c.Schema(t.Context(), object.Kind{GVK: gadgets}); s != nil || err != nil {
				t.Fatalf("%v, %v", s, err)
			}
		},
		"by kubectl": func(t *testing.T, dir string, answer func(int, *http.Request) (*http.Response, error)) {
			config := &rest.Config{Host: "http://fake", Transport: &clienttest.Fake{Answer: answer}}
			kubectl, err := disk.NewCachedDiscoveryClientForConfig(config, filepath.Join(dir, "discovery", "fake"), filepath.Join(dir, "http"), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if paths, err := openapi.NewClientWithContext(kubectl.RESTClient()).PathsWithContext(t.Context()); err != nil || len(paths) != 1 {
				t.Fatalf("%v, %v", paths, err)
			}
		},
	}
	for name, store := range stored {
		t.Run(name, func(t *testing.T) {
			published, second := map[string]any{"apis/apps/v1": map[string]any{"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=1"}}, time.Now().UTC().Format(http.TimeFormat)
			answer := func(_ int, req *http.Request) (*http.Response, error) {
				switch req.URL.Path {
				case "/openapi/v3":
					if since := req.Header.Get("If-Modified-Since"); since == second {
						return clienttest.Reply(http.StatusNotModified, nil), nil
					}
					out := clienttest.Reply(http.StatusOK, map[string]any{"paths": published})
					out.Header.Set("Last-Modified", second)
					return out, nil
				case "/openapi/v3/apis/x.y/v1":
					return clienttest.Reply(http.StatusOK, map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": map[string]any{
						"y.x.Gadget": map[string]any{"x-kubernetes-group-version-kind": []any{gvkOf(gadgets)}},
					}}}), nil
				}
				return clienttest.Discovered(req), nil
			}
			dir := t.TempDir()
			store(t, dir, answer)
			published["apis/x.y/v1"] = map[string]any{"serverRelativeURL": "/openapi/v3/apis/x.y/v1?hash=1"}
			for range 2 {
				c, f, _ := onDisk(t, dir, answer)
				if s, err := c.Schema(t.Context(), object.Kind{GVK: gadgets}); s == nil || err != nil {
					t.Errorf("%v, %v; requests %v", s, err, f.Requests)
				}
			}
		})
	}
}

func gvkOf(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}
