package webhook_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

// allOld reports every ConfigMap as deprecated.
type allOld struct{}

func (allOld) Notice(gvk schema.GroupVersionKind) (string, bool) {
	return "all is old", gvk.Kind == "ConfigMap"
}

func (allOld) Fields(_, now *unstructured.Unstructured) []deprecation.FieldNotice {
	if now.GetKind() != "ConfigMap" {
		return nil
	}
	return []deprecation.FieldNotice{{Path: ".data"}}
}

const birds = `
metadata: {name: birds.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: birds, singular: bird, kind: Bird}
  versions:
  - {name: v1, served: true, storage: true, schema: &schema {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta1, served: true, storage: false, deprecated: true, schema: *schema}
`

// A client that writes a custom kind at its deprecated version gets a warning. The
// version of the request counts, not the stored one.
func TestDefinitionWithTwoVersions(t *testing.T) {
	catalogue := &admission.Catalogue{Server: deprecation.Release{Major: 1, Minor: 36}}
	r := start(t, shared.Cluster(t), webhook.Parts{Deprecations: catalogue, Definitions: catalogue})
	r.namespace(t, "birds")
	r.admin.must(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", birds)
	old := schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Bird"}
	eventually(t, "the definition is heard of", func() bool { _, ok := catalogue.Notice(old); return ok })

	bird := func(version, colour string) *unstructured.Unstructured {
		return object("example.com/"+version, "Bird", "{metadata: {name: tit, namespace: birds}, colour: "+colour+"}")
	}
	eventually(t, "birds are served", func() bool {
		_, err := r.admin.tryApply(bird("v1", "blue"), "flux", true)
		return err == nil
	})
	r.admin.reported()
	const own = "example.com/v1beta1 Bird is deprecated; use example.com/v1 Bird" // the API server's words, which name no object
	const ours = "Bird/birds/tit: example.com/v1beta1 is deprecated; use v1"
	steps := []struct {
		version, colour, manager string
		want                     []string
	}{
		{"v1beta1", "blue", "flux", []string{own, ours}},
		{"v1", "green", "flux", nil},
		{"v1beta1", "red", "flux", []string{own, ours}},
		// A manager that switches to another version takes nothing from itself. A takeover from
		// another manager is reported across versions (edge case 7), if both have the path and the
		// values differ.
		{"v1beta1", "white", "argo", []string{own, "Bird/birds/tit: .colour taken from flux by argo", ours}},
		{"v1", "white", "argo", nil},
		{"v1", "black", "helm", []string{"Bird/birds/tit: .colour taken from argo by helm"}},
		{"v1beta1", "grey", "flux", []string{own, "Bird/birds/tit: .colour taken from helm by flux", ours}},
	}
	for _, s := range steps {
		r.admin.apply(t, bird(s.version, s.colour), s.manager, false)
		if diff := cmp.Diff(sorted(s.want), sorted(r.admin.reported())); diff != "" {
			t.Errorf("%s by %s (-want +got):\n%s", s.version, s.manager, diff)
		}
	}
	kubectl(t, r.Cluster, "", "delete", "crd", "birds.example.com")
	eventually(t, "the definition is forgotten", func() bool { _, ok := catalogue.Notice(old); return !ok })
}

// A deprecated field is reported when an object is created with it or gets it later, and not again.
func TestDeprecatedField(t *testing.T) {
	catalogue := &admission.Catalogue{Server: deprecation.Release{Major: 1, Minor: 36}}
	r := start(t, shared.Cluster(t), webhook.Parts{Deprecations: catalogue})
	r.namespace(t, "fields")
	service := func(name, more string) *unstructured.Unstructured {
		return object("v1", "Service", "{metadata: {name: "+name+", namespace: fields}, spec: {type: LoadBalancer, ports: [{port: 80}]"+more+"}}")
	}
	const address = ", loadBalancerIP: 192.0.2.1"
	steps := []struct {
		u       *unstructured.Unstructured
		manager string
		want    bool
	}{
		{service("made", address), "flux", true},
		{service("later", ""), "flux", false},
		{service("later", address), "flux", true},
		{service("later", address), "argo", false},
	}
	for i, s := range steps {
		r.admin.apply(t, s.u, s.manager, false)
		reported := r.admin.reported()
		ours := 0
		for _, text := range reported {
			if len(text) > 8 && text[:8] == "Service/" {
				ours++
			}
		}
		if (ours == 1) != s.want || ours > 1 {
			t.Errorf("step %d: warnings are %q", i, reported)
		}
	}
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1500 {
		if is() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("timed out: " + what)
}
