package deprecation_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1beta1, served: true, storage: false, deprecated: true, schema: &any {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, schema: *any}
  - {name: v1alpha1, served: true, storage: false, deprecated: true, deprecationWarning: Widgets of v1alpha1 rust, schema: *any}
`

// A definition counts once the API server has accepted its names. Its deprecated versions are then
// those of which the server warns.
func TestCustom(t *testing.T) {
	s := start(t)
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	s.do(t, http.MethodPost, path, []byte(widgets))
	custom := &deprecation.Custom{}
	kind := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, answer := s.do(t, http.MethodGet, path+"/widgets.example.com", nil)
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(answer, &crd.Object); err != nil {
			t.Fatal(err)
		}
		custom.Set(deprecation.ParseDefinition(crd))
		_, known := custom.Lookup(kind.WithVersion("v1beta1"))
		if known && s.serves("example.com/v1beta1") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the definition is not served")
		}
	}
	for version, want := range map[string]struct{ ours, theirs string }{
		"v1":       {"", ""},
		"v1beta1":  {"example.com/v1beta1 is deprecated; use v1", "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"},
		"v1alpha1": {"example.com/v1alpha1 is deprecated; use v1", "Widgets of v1alpha1 rust"},
	} {
		ours := ""
		if n, ok := custom.Lookup(kind.WithVersion(version)); ok {
			ours = n.String()
		}
		warnings, _ := s.do(t, http.MethodGet, "/apis/example.com/"+version+"/widgets", nil)
		if theirs := strings.Join(warnings, "\n"); ours != want.ours || theirs != want.theirs {
			t.Errorf("%s: %q, the server %q; want %q and %q", version, ours, theirs, want.ours, want.theirs)
		}
	}
}

func (s *server) serves(groupVersion string) bool {
	_, err := s.discovery.ServerResourcesForGroupVersion(groupVersion)
	return err == nil
}
