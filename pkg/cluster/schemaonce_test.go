package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// However many kinds are asked about, side by side and again and again, the schemas of a
// run cost one request for where they are, and one for each group version.
func TestSchemasCostARequestAGroupVersion(t *testing.T) {
	groups, kinds := []string{"apps", "batch", "example.com"}, []string{"A", "B", "C"}
	c, f, _ := newFake(t, func(_ int, req *http.Request) (*http.Response, error) {
		group := strings.TrimSuffix(strings.TrimPrefix(req.URL.Path, "/openapi/v3/apis/"), "/v1")
		switch {
		case req.URL.Path == "/openapi/v3":
			paths := map[string]any{}
			for _, group := range groups {
				paths["apis/"+group+"/v1"] = map[string]any{"serverRelativeURL": "/openapi/v3/apis/" + group + "/v1?hash=1"}
			}
			return reply(http.StatusOK, map[string]any{"paths": paths}), nil
		case group != req.URL.Path:
			schemas := map[string]any{}
			for _, kind := range kinds {
				schemas["some."+kind] = map[string]any{
					"description": group + kind, "x-kubernetes-group-version-kind": []any{map[string]any{"group": group, "version": "v1", "kind": kind}},
				}
			}
			return reply(http.StatusOK, map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": schemas}}), nil
		}
		return stranger(http.StatusNotFound), nil
	})
	schemas := c.SchemaOnce(t.Context())
	var all sync.WaitGroup
	for n := range 5 * len(groups) * len(kinds) {
		all.Go(func() {
			gvk := schema.GroupVersionKind{Group: groups[n%len(groups)], Version: "v1", Kind: kinds[n/len(groups)%len(kinds)]}
			if got := schemas(object.Kind{GVK: gvk}); got == nil || got.Description != gvk.Group+gvk.Kind {
				t.Errorf("the schema of %s is %v", gvk, got)
			}
		})
	}
	all.Wait()
	if got := schemas(object.Kind{GVK: schema.GroupVersionKind{Group: "none", Version: "v1", Kind: "A"}}); got != nil {
		t.Errorf("a group that is not there has the schema %v", got)
	}
	want := map[string]int{"/openapi/v3": 1}
	for _, group := range groups {
		want[fmt.Sprintf("/openapi/v3/apis/%s/v1", group)] = 1
	}
	got := map[string]int{}
	for _, what := range f.seen {
		if _, path, _ := strings.Cut(what, " "); strings.HasPrefix(path, "/openapi") {
			got[path]++
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("requests: %v, want %v", got, want)
	}
}
