package condition

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

var published sync.Map

// publishedSchema returns a kind's schema as an API server publishes it, with references resolved.
func publishedSchema(t testing.TB, gvk schema.GroupVersionKind) *spec.Schema {
	t.Helper()
	path := "apis/" + gvk.Group + "/" + gvk.Version
	if gvk.Group == "" {
		path = "api/" + gvk.Version
	}
	known, found := published.Load(path)
	if !found {
		known = schemasAt(t, path)
		published.Store(path, known)
	}
	all := known.(map[string]*spec.Schema)
	lookup := func(ref string) (*spec.Schema, bool) {
		s, ok := all[strings.TrimPrefix(ref, "#/components/schemas/")]
		return s, ok
	}
	for name, s := range all {
		var kinds []schema.GroupVersionKind
		if s.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds) != nil || len(kinds) == 0 || kinds[0] != gvk {
			continue
		}
		resolved, err := resolver.PopulateRefs(lookup, name)
		if err != nil {
			t.Fatal(err)
		}
		return resolved
	}
	t.Fatalf("no schema for %s", gvk)
	return nil
}

func schemasAt(t testing.TB, path string) map[string]*spec.Schema {
	t.Helper()
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := paths[path].Schema("application/json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	return document.Components.Schemas
}

// definedSchema reads a schema from a CRD, and adds the schema of metadata, as the API server does
// when it publishes the schema.
func definedSchema(t testing.TB, text string) *spec.Schema {
	t.Helper()
	s := &spec.Schema{}
	if err := yaml.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	s.Properties["metadata"] = publishedSchema(t, deployment()).Properties["metadata"]
	return s
}
