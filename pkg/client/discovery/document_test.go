package discovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

// nested contains references with and without keywords next to them, wrapped or not, references to
// references, and cycles.
const nested = `{"openapi": "3.0.0", "info": {"title": "x"}, "paths": {"/x": {"get": {}}}, "components": {"schemas": {
  "y.x.v1.Form": {
    "type": "object",
    "properties": {
      "first": {"$ref": "#/components/schemas/y.x.Part"},
      "again": {"$ref": "#/components/schemas/y.x.Part", "default": {"size": 1}, "x-kubernetes-map-type": "granular"},
      "wrapped": {"allOf": [{"$ref": "#/components/schemas/y.x.Part"}], "default": {}, "description": "x", "x-y": {"a": [1, "b"]}},
      "parts": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/y.x.Part"}], "default": {"size": 2}}, "x-kubernetes-list-type": "atomic"},
      "byName": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/y.x.Part", "default": {"size": 3}}},
      "free": {"type": "object", "additionalProperties": true},
      "alias": {"$ref": "#/components/schemas/y.x.Alias", "x-y": "use"},
      "named": {"$ref": "#/components/schemas/y.x.Alias"},
      "tree": {"$ref": "#/components/schemas/y.x.Tree"},
      "circle": {"$ref": "#/components/schemas/y.x.Circle"}
    },
    "x-kubernetes-group-version-kind": [{"group": "x.y", "version": "v1", "kind": "Form"}, {"group": "x.y", "version": "v1", "kind": "Shape"}]
  },
  "y.x.v1.FormList": {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/y.x.v1.Form"}}},
    "x-kubernetes-group-version-kind": [{"group": "x.y", "version": "v1", "kind": "FormList"}]
  },
  "y.x.v1.Twig": {
    "allOf": [{"$ref": "#/components/schemas/y.x.Tree"}], "default": {"is": "twig"},
    "x-kubernetes-group-version-kind": [{"group": "x.y", "version": "v1", "kind": "Twig"}]
  },
  "y.x.Part": {"type": "object", "default": {"size": 0}, "x-kubernetes-map-type": "atomic", "properties": {
    "size": {"type": "integer", "default": 7},
    "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}
  }},
  "y.x.Alias": {"allOf": [{"$ref": "#/components/schemas/y.x.Part"}], "x-y": "alias", "x-z": "alias"},
  "y.x.Tree": {"type": "object", "properties": {
    "left": {"allOf": [{"$ref": "#/components/schemas/y.x.Tree"}], "default": {"is": "left"}},
    "all": {"type": "array", "items": {"$ref": "#/components/schemas/y.x.Tree"}},
    "byName": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/y.x.Tree"}, "x-y": "branches"},
    "part": {"$ref": "#/components/schemas/y.x.Part"}
  }},
  "y.x.Circle": {"$ref": "#/components/schemas/y.x.Circle"}
}}}`

func realDocuments(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for path, document := range paths {
		if texts[path], err = document.Schema("application/json"); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// lookUp returns a function that looks up the schemas of kinds in one document.
func lookUp(text []byte) func(object.Kind) openapi.Type {
	return published.ByKind(lookUpIn(func(schema.GroupVersion) []byte { return text }))
}

// inBothWays returns the schema of a kind twice: to be looked up path by path, and resolved as a
// whole.
func inBothWays(t *testing.T, doc *document, gvk schema.GroupVersionKind) (lazy, whole openapi.Type) {
	t.Helper()
	s, err := doc.schema(gvk)
	if err != nil || s == nil {
		t.Fatal(gvk, s, err)
	}
	resolved, err := doc.resolved(s, sets.New[string]())
	if err != nil {
		t.Fatal(err)
	}
	types := published.ByKind(func(object.Kind) (*spec.Schema, func(*spec.Schema) *spec.Schema) { return s, doc.known })
	return types(object.Kind{}), published.Of(resolved)
}

// At every path of every kind, a schema agrees with the document. This holds if it is looked up
// path by path, if it is resolved as a whole, and with concurrent use. Only a resolved schema ends
// at a cycle.
func TestSchemasAgreeWithDocument(t *testing.T) {
	documents := realDocuments(t)
	documents["nested"] = []byte(nested)
	for path, text := range documents {
		t.Run(path, func(t *testing.T) {
			doc, want := parsed(t, text), rawOf(t, text)
			var all sync.WaitGroup
			for gvk, name := range want.kinds() {
				if !strings.HasSuffix(path, gvk.Version) && path != "nested" {
					continue // DeleteOptions and WatchEvent, which are of each version that the server has.
				}
				all.Go(func() {
					lazy, whole := inBothWays(t, doc, gvk)
					want.compare(t, gvk.Kind, want.at(map[string]any{"$ref": "#/components/schemas/" + name}), lazy, whole, nil)
				})
			}
			all.Wait()
		})
	}
}

// A schema is decoded only if it is needed, and only once. If a schema cannot be decoded, only the
// paths that lead to it are affected.
func TestSchemasAreDecodedLazily(t *testing.T) {
	doc := parsed(t, []byte(`{"components": {"schemas": {
  "A": {"properties": {"b": {"$ref": "#/components/schemas/B"}, "c": {"$ref": "#/components/schemas/C"}, "d": {"$ref": "#/components/schemas/D"}},
    "x-kubernetes-group-version-kind": [{"group": "x.y", "version": "v1", "kind": "A"}]},
  "B": {"type": "object", "properties": {"again": {"$ref": "#/components/schemas/B"}}},
  "C": {"type": 7}
}}}`))
	a, err := doc.schema(things.WithKind("A"))
	if err != nil {
		t.Fatal(err)
	}
	b := doc.known(at(a, "b"))
	if b.ID != "B" || doc.known(at(b, "again")) != b || doc.known(b) != b {
		t.Error("a plain reference was decoded or copied again")
	}
	for _, name := range []string{"c", "d"} {
		if s, err := doc.follow(at(a, name)); err == nil {
			t.Errorf("%s: got %v, want an error", name, s)
		}
		if types := published.Of(doc.known(at(a, name))); types == nil || describe(types) != describe(published.Of(&spec.Schema{})) {
			t.Errorf("%s: got type %v, want an unknown one", name, types)
		}
	}
	if s, err := doc.resolved(a, sets.New[string]()); err == nil {
		t.Errorf("A was resolved to %v, want an error", s)
	}
}

func at(s *spec.Schema, name string) *spec.Schema {
	field := s.Properties[name]
	return &field
}

// A type that contains itself can be looked up at any depth. Each use of the type has its own
// default.
func TestRecursiveSchemas(t *testing.T) {
	of := lookUp([]byte(nested))
	at := openapi.Field(of(object.Kind{GVK: things.WithKind("Form")}), "tree")
	for range 100 {
		for _, below := range []openapi.Type{openapi.Items(at.Property("all")), openapi.Field(at.Property("byName"), "any")} {
			if below.Name() != "y.x.Tree" || below.Default() != nil {
				t.Fatalf("got type %s with the default %v", below.Name(), below.Default())
			}
		}
		at = at.Property("left")
		if at.Name() != "y.x.Tree" || !reflect.DeepEqual(at.Default(), map[string]any{"is": "left"}) {
			t.Fatalf("got type %s with the default %v", at.Name(), at.Default())
		}
	}
}

// A document is split into its schemas, wherever they are in the document. A truncated document is
// an error.
func TestSplitDocument(t *testing.T) {
	documents := realDocuments(t)
	documents["nested"] = []byte(nested)
	documents["without schemas"] = []byte(`{"openapi": "3.0.0", "components": {"securitySchemes": {"x": {}}}, "paths": {}}`)
	documents["nothing"] = []byte(`{"components": null}`)
	documents["twice"] = []byte(`{"components": {"schemas" : { "A" :{"type": "object"} , "A":` + "\n\t" + `{"title":"\u00e9 }\" ` + "\xff" + `"} }}}`)
	for path, text := range documents {
		t.Run(path, func(t *testing.T) {
			var want struct {
				Components struct{ Schemas map[string]json.RawMessage }
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			got := parsed(t, text).texts
			for name, schema := range want.Components.Schemas {
				if string(got[name]) != string(schema) {
					t.Errorf("%s is %s, want %s", name, got[name], schema)
				}
			}
			if len(got) != len(want.Components.Schemas) {
				t.Errorf("%d schemas, want %d", len(got), len(want.Components.Schemas))
			}
		})
	}
	for end := range len(nested) {
		if doc, err := cut([]byte(nested[:end])); end > 0 && err == nil || end == 0 && len(doc.texts) > 0 {
			t.Errorf("the first %d bytes were accepted as a document: %v", end, err)
		}
	}
}

// A prediction about the ports of a few workloads needs only a small part of the document to be
// decoded.
func BenchmarkSchemaOfPorts(b *testing.B) {
	text := realDocuments(b)["apis/apps/v1"]
	path, err := fieldpath.ParsePath(".spec.template.spec.containers[0].ports")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		of := lookUp(text)
		for _, kind := range []string{"Deployment", "DaemonSet", "StatefulSet"} {
			types := openapi.Schema{Fetch: func() openapi.Type {
				return of(object.Kind{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}})
			}}
			if openapi.RelationOf(types.At(path)) != openapi.Granular {
				b.Fatal("the ports of a container are not recognized as a list by key")
			}
		}
	}
}

// raw is a document as encoding/json decodes it. The tests compare with it.
type raw map[string]map[string]any

func rawOf(t testing.TB, text []byte) raw {
	t.Helper()
	var doc struct {
		Components struct{ Schemas raw }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Components.Schemas
}

func parsed(t testing.TB, text []byte) *document {
	t.Helper()
	doc, err := cut(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func (r raw) kinds() map[schema.GroupVersionKind]string {
	out := map[schema.GroupVersionKind]string{}
	for name, s := range r {
		marks, _ := s["x-kubernetes-group-version-kind"].([]any)
		for _, mark := range marks {
			m := mark.(map[string]any)
			out[schema.GroupVersionKind{Group: m["group"].(string), Version: m["version"].(string), Kind: m["kind"].(string)}] = name
		}
	}
	return out
}

// message is what the document says at a place: the keywords next to its references, then its type.
type message struct {
	name string
	by   []map[string]any
}

func (r raw) at(s map[string]any) *message {
	out := &message{}
	for seen := map[string]bool{}; ; {
		ref, _ := s["$ref"].(string)
		all, _ := s["allOf"].([]any)
		for _, one := range all {
			if inner, is := one.(map[string]any)["$ref"].(string); is {
				ref = inner
			}
		}
		if out.by = append(out.by, s); ref == "" {
			return out
		}
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		if seen[name] { // A circle of references, which says only that it is an object.
			out.name, out.by = "", append(out.by, map[string]any{"type": "object"})
			return out
		}
		seen[name] = true
		s, out.name = r[name], name
	}
}

func (s *message) first(key string) any {
	for _, one := range s.by {
		if v := one[key]; v != nil {
			return v
		}
	}
	return nil
}

// itself returns the type without the keywords next to references to it.
func (s *message) itself() map[string]any { return s.by[len(s.by)-1] }

// compare compares the types at a path and at everything below the path. In a cycle, lazy never
// ends, but whole does. above are the types that contain this one.
func (r raw) compare(t *testing.T, path string, want *message, lazy, whole openapi.Type, above []string) {
	within := want.name != "" && slices.Contains(above, want.name)
	circle := want.name == "" && len(want.by) > 1
	for how, got := range map[string]openapi.Type{"lazily": lazy, "whole": whole} {
		switch {
		case got == nil:
			t.Errorf("%s has no type %s", path, how)
			return
		case how == "whole" && within:
			if !slices.Equal(got.Kinds(), []string{"object"}) || len(got.Properties()) > 0 || !reflect.DeepEqual(got.Default(), want.first("default")) {
				t.Errorf("%s, which is part of itself, is %s", path, describe(got))
			}
		default:
			same(t, path+" "+how, want, got)
		}
	}
	if within || circle {
		return
	}
	if want.name != "" {
		above = append(slices.Clone(above), want.name)
	}
	s := want.itself()
	fields, _ := s["properties"].(map[string]any)
	for name, field := range fields {
		r.compare(t, path+"."+name, r.at(field.(map[string]any)), lazy.Property(name), whole.Property(name), above)
	}
	if values, is := s["additionalProperties"].(map[string]any); is {
		one, _ := lazy.Values()
		other, _ := whole.Values()
		r.compare(t, path+".*", r.at(values), one, other, above)
	}
	if items, is := s["items"].(map[string]any); is {
		r.compare(t, path+"[]", r.at(items), lazy.Items(), whole.Items(), above)
	}
}

func same(t *testing.T, path string, want *message, got openapi.Type) {
	s := want.itself()
	kinds := []string{}
	if kind, is := s["type"].(string); is {
		kinds = append(kinds, kind)
	}
	fields, _ := s["properties"].(map[string]any)
	values, _ := got.Values()
	_, open := s["additionalProperties"]
	_, typed := s["additionalProperties"].(map[string]any)
	_, listed := s["items"]
	wanted := fmt.Sprint(want.name, kinds, slices.Sorted(maps.Keys(fields)), open, typed, listed, want.first("default"))
	if describe(got) != wanted || (values != nil) != typed {
		t.Errorf("%s is %s, want %s", path, describe(got), wanted)
	}
	for _, one := range want.by {
		for key := range one {
			if strings.HasPrefix(key, "x-") && !reflect.DeepEqual(got.Extension(key), want.first(key)) {
				t.Errorf("%s has %s %v, want %v", path, key, got.Extension(key), want.first(key))
			}
		}
	}
}

func describe(got openapi.Type) string {
	values, open := got.Values()
	return fmt.Sprint(got.Name(), append([]string{}, got.Kinds()...), slices.Sorted(slices.Values(got.Properties())), open, values != nil, got.Items() != nil, got.Default())
}
