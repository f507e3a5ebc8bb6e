package discovery_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/discovery"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// A run requests the index of schemas once, and the schemas of each group version once. This does
// not depend on how many kinds are needed, in which order, or how often.
func TestSchemasCostOneRequestPerGroupVersion(t *testing.T) {
	for name, read := range map[string]func(*client.Client, context.Context) (discovery.Lookup, func()){
		"requested when needed": func(c *client.Client, ctx context.Context) (discovery.Lookup, func()) {
			return c.SchemaOnce(ctx), func() {}
		},
		"requested ahead": func(c *client.Client, ctx context.Context) (discovery.Lookup, func()) {
			schemas, expect, stop := c.SchemaAhead(ctx)
			expect([]schema.GroupVersion{{Group: "apps", Version: "v1"}, {Group: "example.com", Version: "v1"}})
			return schemas, stop
		},
	} {
		t.Run(name, func(t *testing.T) { schemasCostARequestAGroupVersion(t, read) })
	}
}

func schemasCostARequestAGroupVersion(t *testing.T, read func(*client.Client, context.Context) (discovery.Lookup, func())) {
	groups, kinds := []string{"apps", "batch", "example.com"}, []string{"A", "B", "C"}
	c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
		group := strings.TrimSuffix(strings.TrimPrefix(req.URL.Path, "/openapi/v3/apis/"), "/v1")
		switch {
		case req.URL.Path == "/openapi/v3":
			paths := map[string]any{}
			for _, group := range groups {
				paths["apis/"+group+"/v1"] = map[string]any{"serverRelativeURL": "/openapi/v3/apis/" + group + "/v1?hash=1"}
			}
			return clienttest.Reply(http.StatusOK, map[string]any{"paths": paths}), nil
		case group != req.URL.Path:
			schemas := map[string]any{}
			for _, kind := range kinds {
				schemas["some."+kind] = map[string]any{
					"description": group + kind, "x-kubernetes-group-version-kind": []any{map[string]any{"group": group, "version": "v1", "kind": kind}},
				}
			}
			return clienttest.Reply(http.StatusOK, map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": schemas}}), nil
		}
		return clienttest.HTML(http.StatusNotFound), nil
	})
	schemas, stop := read(c, t.Context())
	defer stop()
	var all sync.WaitGroup
	for n := range 5 * len(groups) * len(kinds) {
		all.Go(func() {
			gvk := schema.GroupVersionKind{Group: groups[n%len(groups)], Version: "v1", Kind: kinds[n/len(groups)%len(kinds)]}
			if got, _ := schemas(object.Kind{GVK: gvk}); got == nil || got.Description != gvk.Group+gvk.Kind {
				t.Errorf("the schema of %s is %v", gvk, got)
			}
		})
	}
	all.Wait()
	want := map[string]int{"/openapi/v3": 1}
	for _, group := range groups {
		want[fmt.Sprintf("/openapi/v3/apis/%s/v1", group)] = 1
	}
	got := map[string]int{}
	for _, what := range f.Requests {
		if _, path, _ := strings.Cut(what, " "); strings.HasPrefix(path, "/openapi") {
			got[path]++
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("requests: %v, want %v", got, want)
	}
}

// A prefetch is sent before any kind is needed, so it costs no additional round trip, and neither
// does a document that was expected. A kind that is created later is found. A document that is
// missing is requested only once.
func TestSchemaPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip = 100 * time.Millisecond
		published := []string{"apps", "large.com"}
		c, f, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			time.Sleep(trip)
			group := strings.TrimSuffix(strings.TrimPrefix(req.URL.Path, "/openapi/v3/apis/"), "/v1")
			if req.URL.Path == "/openapi/v3" {
				paths := map[string]any{}
				for _, group := range published {
					paths["apis/"+group+"/v1"] = map[string]any{"serverRelativeURL": "/openapi/v3/apis/" + group + "/v1?hash=1"}
				}
				return clienttest.Reply(http.StatusOK, map[string]any{"paths": paths}), nil
			}
			schemas := map[string]any{"A": map[string]any{
				"description": group, "x-kubernetes-group-version-kind": []any{map[string]any{"group": group, "version": "v1", "kind": "A"}},
			}}
			return clienttest.Reply(http.StatusOK, map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": schemas}}), nil
		})
		schemas, expect, stop := c.SchemaAhead(t.Context())
		expect([]schema.GroupVersion{{Group: "large.com", Version: "v1"}, {Group: "none.com", Version: "v1"}})
		defer stop()
		ask := func(group string) *spec.Schema {
			s, _ := schemas(object.Kind{GVK: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "A"}})
			return s
		}
		time.Sleep(trip + time.Millisecond) // as the objects are read
		synctest.Wait()
		if got, want := fmt.Sprint(f.Requests), "[GET /openapi/v3 GET /openapi/v3/apis/large.com/v1]"; got != want {
			t.Fatalf("requested before any lookup: %s, want %s", got, want)
		}
		began := time.Now()
		if got := ask("apps"); got == nil || got.Description != "apps" {
			t.Errorf("the schema is %v", got)
		}
		if took := time.Since(began); took > trip {
			t.Errorf("took %s, a document takes %s", took, trip)
		}
		began = time.Now()
		if got := ask("large.com"); got == nil || got.Description != "large.com" {
			t.Errorf("the schema is %v", got)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("took %s, want no time for a prefetched document", took)
		}
		published = append(published, "late.com")
		if got := ask("late.com"); got == nil || got.Description != "late.com" {
			t.Errorf("the schema of a group that came later is %v", got)
		}
		for range 3 {
			if got := ask("none.com"); got != nil {
				t.Errorf("a group that does not exist has the schema %v", got)
			}
		}
		indexes := 0
		for _, what := range f.Requests {
			if what == "GET /openapi/v3" {
				indexes++
			}
		}
		if indexes != 2 {
			t.Errorf("the index of schemas was requested %d times, want twice: %v", indexes, f.Requests)
		}
	})
}

// stop returns even if an answer never comes.
func TestSchemasAheadStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := clienttest.New(t, func(_ int, req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		_, expect, stop := c.SchemaAhead(t.Context())
		expect([]schema.GroupVersion{{Group: "large.com", Version: "v1"}})
		began := time.Now()
		stop()
		if took := time.Since(began); took > 0 {
			t.Errorf("stopped after %s", took)
		}
	})
}
