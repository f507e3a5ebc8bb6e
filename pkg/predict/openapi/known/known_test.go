package known_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/known"
)

func kind(group, version, name string) object.Kind {
	return object.Kind{GVK: schema.GroupVersionKind{Group: group, Version: version, Kind: name}}
}

// What is known of Kubernetes' own kinds, path by path. TestTypesAreThosePublished in test/e2e
// compares all of them with what a server publishes.
func TestBuiltIn(t *testing.T) {
	kinds := known.Among(nil)
	for _, tt := range []struct {
		kind     object.Kind
		path     string
		name     string
		kinds    []string
		relation openapi.Relation
	}{
		{kind("apps", "v1", "Deployment"), ".spec.template.spec", "io.k8s.api.core.v1.PodSpec", []string{"object"}, openapi.Granular},
		{kind("apps", "v1", "Deployment"), ".spec.template.spec.containers", "", []string{"array"}, openapi.Granular},
		{kind("apps", "v1", "Deployment"), ".spec.template.spec.tolerations", "", []string{"array"}, openapi.Atomic},
		{kind("apps", "v1", "Deployment"), `.spec.template.spec.containers[name="a"].resources.limits.cpu`, "io.k8s.apimachinery.pkg.api.resource.Quantity", nil, openapi.Unknown},
		{kind("apps", "v1", "Deployment"), `.spec.template.spec.containers[name="a"].resources.claims`, "", []string{"array"}, openapi.Granular},
		{kind("apps", "v1", "Deployment"), ".spec.template.spec.nodeSelector", "", []string{"object"}, openapi.Atomic},
		{kind("apps", "v1", "Deployment"), ".spec.replicas", "", []string{"integer"}, openapi.Unknown},
		{kind("apps", "v1", "Deployment"), ".spec.strategy.rollingUpdate.maxSurge", "io.k8s.apimachinery.pkg.util.intstr.IntOrString", nil, openapi.Unknown},
		{kind("apps", "v1", "Deployment"), ".metadata.labels", "", []string{"object"}, openapi.Granular},
		{kind("apps", "v1", "Deployment"), ".metadata.creationTimestamp", "io.k8s.apimachinery.pkg.apis.meta.v1.Time", []string{"string"}, openapi.Unknown},
		{kind("", "v1", "Secret"), ".data.a", "", []string{"string"}, openapi.Unknown},
		{kind("", "v1", "PersistentVolume"), ".spec.claimRef", "io.k8s.api.core.v1.ObjectReference", []string{"object"}, openapi.Granular},
		{kind("rbac.authorization.k8s.io", "v1", "RoleBinding"), ".roleRef", "io.k8s.api.rbac.v1.RoleRef", []string{"object"}, openapi.Atomic},
	} {
		path, err := fieldpath.ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		types := openapi.Schema{Fetch: func() openapi.Type { return kinds.Of(tt.kind) }}
		got := types.At(path)
		if got == nil {
			t.Errorf("%s is not known", tt.path)
			continue
		}
		if got.Name() != tt.name || !slices.Equal(got.Kinds(), tt.kinds) || openapi.RelationOf(got) != tt.relation {
			t.Errorf("%s is a %q, %v, %v", tt.path, got.Name(), got.Kinds(), openapi.RelationOf(got))
		}
	}
	for _, unknown := range []object.Kind{
		kind("apps", "v1", "Thing"), kind("apps", "v1beta1", "Deployment"), kind("example.com", "v1", "Deployment"),
	} {
		if kinds.Of(unknown) != nil {
			t.Errorf("%s is known", unknown.GVK)
		}
	}
}

// A definition says of its kinds what they are, in the versions that are served; only of those
// that are of interest, and nothing of what every object has.
func TestDefined(t *testing.T) {
	const text = `
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object, properties: {name: {type: string}}}
          template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          args: {type: array, items: {type: string}}
          ports: {type: array, x-kubernetes-list-type: map, items: {type: object, properties: {protocol: {type: string, default: TCP}}}}
          free: {type: object, additionalProperties: {type: string}}
          open: {type: object, additionalProperties: true}
  - {name: v1beta1, served: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1alpha1, served: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true}
`
	thing := kind("example.com", "v1", "Thing")
	thing.Resource = "things"
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &definition.Object); err != nil {
		t.Fatal(err)
	}
	kinds := known.Among([]schema.GroupVersionKind{thing.GVK, kind("example.com", "v1alpha1", "Thing").GVK, kind("example.com", "v2", "Thing").GVK})
	if kinds.Of(thing) != nil {
		t.Error("it is known before it is defined")
	}
	kinds.Define(definition)
	types := openapi.Schema{Fetch: func() openapi.Type { return kinds.Of(thing) }}
	for path, want := range map[string]openapi.Relation{
		".args": openapi.Atomic, ".ports": openapi.Granular, ".ports[0]": openapi.Granular, ".free": openapi.Granular, ".open": openapi.Granular,
		".metadata": openapi.Unknown, ".metadata.name": openapi.Unknown, ".apiVersion": openapi.Unknown,
		".template.metadata": openapi.Unknown, ".template.metadata.finalizers": openapi.Unknown, ".nothing": openapi.Unknown,
	} {
		p, err := fieldpath.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := openapi.RelationOf(types.At(p)); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
		// What every object has is declared elsewhere, so that no value says how it is merged.
		if deduced := types.IsDeduced(p); deduced {
			t.Errorf("%s is deduced", path)
		}
	}
	if spec, err := fieldpath.ParsePath(".template.spec"); err != nil || !types.IsDeduced(spec) {
		t.Errorf("unknown fields of an embedded object are not deduced: %v", err)
	}
	if protocol, err := fieldpath.ParsePath(".ports[0].protocol"); err != nil || types.At(protocol).Default() != "TCP" {
		t.Errorf("the default is not TCP: %v", err)
	}
	for _, version := range []string{"v1alpha1", "v1beta1", "v2"} {
		other := kind("example.com", version, "Thing")
		if other.Resource = "things"; kinds.Of(other) != nil {
			t.Errorf("%s is known", version)
		}
	}
	second := definition.DeepCopy() // The server has accepted the names of the first one.
	second.SetName("thongs.example.com")
	kinds.Define(second)
	if got := kinds.Of(thing); got != nil {
		t.Errorf("by a definition that the server does not follow, it is %v", got)
	}
	kinds = known.Among([]schema.GroupVersionKind{thing.GVK})
	definition.Object["spec"].(map[string]any)["preserveUnknownFields"] = true
	kinds.Define(definition)
	if got := kinds.Of(thing); got != nil {
		t.Errorf("a definition that keeps all unknown fields says that it is %v", got)
	}
	kinds.Define(&unstructured.Unstructured{Object: map[string]any{"spec": []any{"a"}}})
}
