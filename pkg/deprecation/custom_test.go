package deprecation_test

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

const helmRepositories = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: helmrepositories.source.toolkit.fluxcd.io}
spec:
  group: source.toolkit.fluxcd.io
  names: {kind: HelmRepository, plural: helmrepositories}
  versions:
  - {name: v1beta1, served: false, deprecated: true}
  - {name: v1beta2, served: true, deprecated: true, deprecationWarning: "v1beta2 HelmRepository is deprecated, upgrade to v1"}
  - {name: v1, served: true, storage: true}
status:
  acceptedNames: {kind: HelmRepository, plural: helmrepositories}
`

func TestDefinition(t *testing.T) {
	for name, tt := range map[string]struct {
		versions []deprecation.DefinedVersion
		want     map[string]string
	}{
		"none deprecated": {[]deprecation.DefinedVersion{{Name: "v1", Served: true}}, nil},
		"by preference, not by place": {
			[]deprecation.DefinedVersion{{Name: "v2alpha1", Served: true}, {Name: "v1", Served: true}, {Name: "v1beta1", Served: true, Deprecated: true}, {Name: "v1beta2", Served: true}},
			map[string]string{"v1beta1": "example.com/v1beta1 is deprecated; use v1"},
		},
		"a better one that is not served": {
			[]deprecation.DefinedVersion{{Name: "v1", Deprecated: false}, {Name: "v1beta1", Served: true, Deprecated: true}, {Name: "v1alpha1", Served: true}},
			map[string]string{"v1beta1": "example.com/v1beta1 is deprecated; use v1alpha1"},
		},
		"the author's words, if nothing else is known": {
			[]deprecation.DefinedVersion{{Name: "v1", Served: true, Deprecated: true, Warning: "use Gadgets\n\x1b[31mof example.org\u202e"}},
			map[string]string{"v1": "example.com/v1 is deprecated: use Gadgets of example.org\\u202e"},
		},
		"no words either": {
			[]deprecation.DefinedVersion{{Name: "v1", Served: true, Deprecated: true}},
			map[string]string{"v1": "example.com/v1 is deprecated"},
		},
	} {
		d := deprecation.Definition{Name: "widgets.example.com", Kind: schema.GroupKind{Group: "example.com", Kind: "Widget"}, Versions: tt.versions}
		got := d.Notices()
		if len(got) != len(tt.want) {
			t.Errorf("%s: %d notices, want %d", name, len(got), len(tt.want))
		}
		for version, want := range tt.want {
			if got := got[version].String(); got != want {
				t.Errorf("%s: %s: %q, want %q", name, version, got, want)
			}
		}
	}
}

func TestCustom(t *testing.T) {
	var c deprecation.Custom
	v1beta2 := gvk("source.toolkit.fluxcd.io/v1beta2 HelmRepository")
	want := func(when, text string) {
		t.Helper()
		n, ok := c.Lookup(v1beta2)
		if got := n.String(); ok != (text != "") || ok && got != text {
			t.Errorf("%s: %v %q, want %q", when, ok, got, text)
		}
	}
	want("empty", "")
	c.Delete("helmrepositories.source.toolkit.fluxcd.io")

	crd := parse(t, helmRepositories)
	d := deprecation.ParseDefinition(crd)
	c.Set(d)
	c.Set(d)
	want("set", "source.toolkit.fluxcd.io/v1beta2 is deprecated; use v1")
	for _, other := range []string{"v1", "v1beta1", "v3"} {
		if n, ok := c.Lookup(v1beta2.GroupKind().WithVersion(other)); ok {
			t.Errorf("%s: %s", other, n)
		}
	}

	// Another CRD claims the same kind, and is not accepted.
	rival := crd.DeepCopy()
	rival.SetName("helmrepos.source.toolkit.fluxcd.io")
	delete(rival.Object, "status")
	c.Set(deprecation.ParseDefinition(rival))
	c.Delete(rival.GetName())
	want("a rival came and went", "source.toolkit.fluxcd.io/v1beta2 is deprecated; use v1")

	d.Versions[1].Deprecated = false
	c.Set(d)
	want("not deprecated any more", "")
	c.Set(deprecation.ParseDefinition(crd))
	c.Delete(crd.GetName())
	want("deleted", "")
}

// Parsing an arbitrary CRD does not panic.
func TestParseArbitraryDefinition(t *testing.T) {
	for _, text := range []string{
		`{}`, `{spec: 1, status: []}`, `{spec: {versions: {}}}`, `{spec: {versions: [1, null, {name: 2, served: "yes"}]}}`,
	} {
		d := deprecation.ParseDefinition(parse(t, text))
		if len(d.Notices()) > 0 {
			t.Errorf("%s: %v", text, d.Notices())
		}
	}
}

func TestCustomIsSafeForConcurrentUse(t *testing.T) {
	var c deprecation.Custom
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			d := deprecation.Definition{
				Name: fmt.Sprint("d", i), Kind: schema.GroupKind{Group: "example.com", Kind: "Widget"},
				Versions: []deprecation.DefinedVersion{{Name: "v1", Served: true, Deprecated: true}},
			}
			for range 200 {
				c.Set(d)
				if _, ok := c.Lookup(d.Kind.WithVersion("v1")); !ok {
					t.Error("Lookup does not find a definition that was just set")
				}
				c.Delete(d.Name)
			}
		})
	}
	wg.Wait()
	if n, ok := c.Lookup(gvk("example.com/v1 Widget")); ok {
		t.Errorf("a deleted definition is still found: %s", n)
	}
}
