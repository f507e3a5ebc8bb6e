package published_test

import (
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

// A field that the schema does not declare has no type. A declared field has the declared relation.
func TestTypes(t *testing.T) {
	const text = `
type: object
properties:
  labels: {type: object, additionalProperties: {type: string}}
  free: {type: object, additionalProperties: true}
  open: {type: object}
  selector: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}
  args: {type: array, items: {type: string}}
  ports: {type: array, x-kubernetes-list-type: map, items: {type: object, properties: {port: {type: integer, default: 80}}}}
  old: {type: array, x-kubernetes-patch-strategy: merge, items: {type: string}}
`
	var s spec.Schema
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	types := &openapi.Schema{Fetch: func() openapi.Type { return published.Of(&s) }}
	for path, want := range map[string]openapi.Relation{
		".labels": openapi.Granular, ".labels.a": openapi.Unknown, ".free": openapi.Granular, ".open": openapi.Unknown,
		".selector": openapi.Atomic, ".args": openapi.Atomic, ".ports": openapi.Granular, ".old": openapi.Granular,
		".ports[0]": openapi.Granular, ".nothing": openapi.Unknown, ".nothing.of.it": openapi.Unknown,
	} {
		p, err := fieldpath.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := openapi.RelationOf(types.At(p)); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{".nothing", ".nothing.of.it", ".free.a", ".open.a", ".args.a", ".args[0].a", ".labels.a.b"} {
		p, err := fieldpath.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := types.At(p); got != nil {
			t.Errorf("%s is %v, want no type", path, got)
		}
	}
	port, err := fieldpath.ParsePath(".ports[0].port")
	if err != nil {
		t.Fatal(err)
	}
	if got := types.At(port); got.Default() != float64(80) || !openapi.MayBe(got, int64(1)) || openapi.MayBe(got, "1") {
		t.Errorf("%+v", got)
	}
	none := published.ByKind(func(object.Kind) (*spec.Schema, func(*spec.Schema) *spec.Schema) { return nil, nil })
	if published.Of(nil) != nil || none(object.Kind{}) != nil {
		t.Error("got a type without a schema, want nil")
	}
}
