package e2e_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/local"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// TestTypesMatchPublishedSchemas compares the built-in types of Kubernetes' kinds with the API server's
// published schemas: the type of each value, and how its parts can be owned.
func TestTypesMatchPublishedSchemas(t *testing.T) {
	t.Parallel() // uses its own cluster
	c := cluster.ForTest(t, cluster.Options{})
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	publisher := publisher{client: discovery.NewDiscoveryClientForConfigOrDie(config)}
	var judge judge
	publisher.eachKind(t, func(gvk schema.GroupVersionKind, doc document, s *spec.Schema) {
		own := judge.own.Of(object.Kind{GVK: gvk})
		if own != nil && !strings.HasSuffix(gvk.Kind, "List") { // lists are not manifests
			judge.compare(t, doc, gvk.Kind, s, own)
		}
	})
	if judge.types < 400 {
		t.Errorf("compared %d types, want at least 400", judge.types)
	}
}

// publisher reads the API server's published documents.
type publisher struct {
	client *discovery.DiscoveryClient
}

func (p publisher) eachKind(t *testing.T, look func(schema.GroupVersionKind, document, *spec.Schema)) {
	t.Helper()
	paths, err := p.client.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		text, err := paths[path].Schema(runtime.ContentTypeJSON)
		if err != nil {
			t.Fatal(err)
		}
		var doc document
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		for _, s := range doc.Components.Schemas {
			var kinds []schema.GroupVersionKind
			_ = s.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds)
			if len(kinds) == 1 { // options belong to all versions
				look(kinds[0], doc, s)
			}
		}
	}
}

type document struct {
	Components struct {
		Schemas map[string]*spec.Schema `json:"schemas"`
	} `json:"components"`
}

// use is a published schema: the referenced one and its siblings.
type use struct {
	*spec.Schema
	name       string
	extensions map[string]any
	value      any // the default
}

func (d document) use(s *spec.Schema) use {
	out := use{Schema: s, extensions: map[string]any{}}
	for {
		for key, value := range out.Extensions {
			if _, nearer := out.extensions[key]; !nearer {
				out.extensions[key] = value
			}
		}
		if out.value == nil {
			out.value = out.Default
		}
		ref := out.Ref.String()
		if ref == "" && len(out.AllOf) == 1 {
			ref = out.AllOf[0].Ref.String()
		}
		if ref == "" {
			return out
		}
		out.name = strings.TrimPrefix(ref, "#/components/schemas/")
		out.Schema = d.Components.Schemas[out.name]
	}
}

// relation returns how a value's parts can be owned.
func (u use) relation() openapi.Relation {
	switch {
	case slices.Contains(u.Type, "array"):
		listType, message := u.extensions["x-kubernetes-list-type"]
		_, strategy := u.extensions["x-kubernetes-patch-strategy"]
		if message && listType != "atomic" || !message && strategy {
			return openapi.Granular
		}
		return openapi.Atomic
	case !slices.Contains(u.Type, "object"):
		return openapi.Unknown
	case u.extensions["x-kubernetes-map-type"] == "atomic":
		return openapi.Atomic
	case len(u.Properties) == 0 && u.AdditionalProperties == nil:
		return openapi.Unknown
	}
	return openapi.Granular
}

// judge compares types, and counts the comparisons.
type judge struct {
	own   local.Types
	seen  map[string]bool
	types int
}

// compare compares a value's type with the published one, recursively.
func (j *judge) compare(t *testing.T, doc document, path string, s *spec.Schema, own openapi.Type) {
	t.Helper()
	is := doc.use(s)
	if own == nil {
		t.Logf("%s: only in the server's version", path) // its schema will be requested
		return
	}
	if diff := cmp.Diff([]string(is.Type), own.Kinds()); diff != "" {
		t.Errorf("%s: kinds (-published +own): %s", path, diff)
	}
	if got, want := openapi.RelationOf(own), is.relation(); got != want {
		t.Errorf("%s (%s): its relation is %v, published %v, %v", path, own.Name(), got, want, is.extensions)
	}
	const keeps = "x-kubernetes-preserve-unknown-fields"
	if own.Extension(keeps) != is.extensions[keeps] {
		t.Errorf("%s: keeps unknown fields: %v, published: %v", path, own.Extension(keeps), is.extensions[keeps])
	}
	if is.name != "" && own.Name() != is.name {
		t.Errorf("%s: it is a %q, published as %q", path, own.Name(), is.name)
	}
	if own.Default() != nil && own.Default() != is.value {
		t.Errorf("%s: its default is %v, published: %v", path, own.Default(), is.value)
	}
	j.compareKeys(t, doc, path, is, own)
	if name := own.Name(); name != "" {
		if j.seen[name] {
			return
		}
		if j.seen == nil {
			j.seen = map[string]bool{}
		}
		j.seen[name] = true
		j.types++
	}
	j.compareBelow(t, doc, path, is, own)
}

// compareKeys compares the key fields of a list's items if one of them has a default.
func (j *judge) compareKeys(t *testing.T, doc document, path string, is use, own openapi.Type) {
	t.Helper()
	if is.Items == nil || is.Items.Schema == nil {
		return
	}
	published, _ := is.extensions["x-kubernetes-list-map-keys"].([]any)
	items := doc.use(is.Items.Schema)
	hasDefault := false
	var want []string
	for _, key := range published {
		name, _ := key.(string)
		want = append(want, name)
		field := items.Properties[name]
		// A required text has the default "", which the server never sets.
		if value := doc.use(&field).value; value != nil && (value != "" || !slices.Contains(items.Required, name)) {
			hasDefault = true
		}
	}
	got, _ := own.Extension("x-kubernetes-list-map-keys").([]string)
	if hasDefault && !slices.Equal(got, want) || !hasDefault && got != nil {
		t.Errorf("%s: the keys are %q, published: %q", path, got, want)
	}
}

func (j *judge) compareBelow(t *testing.T, doc document, path string, is use, own openapi.Type) {
	t.Helper()
	for name := range is.Properties {
		field := is.Properties[name]
		j.compare(t, doc, path+"."+name, &field, own.Property(name))
	}
	values, open := own.Values()
	switch additional := is.AdditionalProperties; {
	case additional != nil && additional.Schema != nil:
		j.compare(t, doc, path+".*", additional.Schema, values)
	case open != (additional != nil):
		t.Errorf("%s: open: %v, published: %+v", path, open, additional)
	}
	switch items := is.Items; {
	case items != nil && items.Schema != nil:
		j.compare(t, doc, path+"[]", items.Schema, own.Items())
	case own.Items() != nil:
		t.Errorf("%s: has items, but none in the published schema", path)
	}
}
