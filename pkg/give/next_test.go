package give

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Listed objects match manifests by kind and name. The target has the version and values of the
// manifest. Objects that are only listed, or only in the manifests, are reported.
func TestMeetMatchesObjectsWithManifests(t *testing.T) {
	listed := func(kind, version, namespace, name string) Target {
		gvk := schema.GroupVersionKind{Group: "x.example", Version: version, Kind: kind}
		return Target{Kind: object.Kind{GVK: gvk}, Ref: object.Ref{GVK: gvk, Namespace: namespace, Name: name}}
	}
	var manifests []object.Manifest
	for _, text := range []string{
		"{apiVersion: x.example/v2, kind: Gadget, metadata: {name: named, namespace: shop}, spec: {a: 1}}",
		"{apiVersion: x.example/v1, kind: Gadget, metadata: {name: unplaced}}",
		"{apiVersion: x.example/v1, kind: Gadget, metadata: {name: named, namespace: other}}",
		"{apiVersion: x.example/v1, kind: Place, metadata: {name: named}}",
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, object.Manifest{Object: u})
	}
	kindOf := func(gvk schema.GroupVersionKind) (object.Kind, error) {
		return object.Kind{GVK: gvk, Resource: "served"}, nil
	}
	applied := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		u.SetLabels(map[string]string{"by": "tool"})
		return u
	}
	next, err := Meet([]Target{
		listed("Gadget", "v1", "shop", "named"), listed("Gadget", "v1", "shop", "unplaced"), listed("Gadget", "v1", "shop", "leaving"), listed("Place", "v1", "", "named"),
	}, manifests, kindOf, applied)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range next.Targets {
		if target.Declared.GetLabels()["by"] != "tool" || target.Kind.Resource != "served" || target.Declared.GetNamespace() != target.Ref.Namespace {
			t.Errorf("%s has the manifest %v or another kind or namespace", target.Ref, target.Declared)
		}
		got = append(got, target.Ref.GVK.Version+" "+target.Ref.GVK.Kind+" "+target.Ref.Namespace+"/"+target.Ref.Name)
	}
	if diff := cmp.Diff([]string{"v2 Gadget shop/named", "v1 Gadget shop/unplaced", "v1 Place /named"}, got); diff != "" {
		t.Error(diff)
	}
	if len(next.Gone) != 1 || next.Gone[0].Name != "leaving" || next.Beyond != 1 {
		t.Errorf("got only listed: %v, only in manifests: %d; want leaving and 1", next.Gone, next.Beyond)
	}
	if manifests[0].Object.GetLabels() != nil {
		t.Error("the manifest itself was changed")
	}
	unserved := errors.New("not served")
	kindOf = func(schema.GroupVersionKind) (object.Kind, error) { return object.Kind{}, unserved }
	if _, err := Meet([]Target{listed("Gadget", "v1", "shop", "named")}, manifests, kindOf, applied); !errors.Is(err, unserved) {
		t.Errorf("error %v", err)
	}
}
