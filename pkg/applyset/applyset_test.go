package applyset

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func secretRef(namespace, name string) object.Ref {
	return object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: namespace, Name: name}
}

// The ids were computed with sha256sum and base64, as the specification describes.
func TestID(t *testing.T) {
	fleet := object.Ref{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Fleet"}, Name: "all"}
	for _, tt := range []struct {
		parent    object.Ref
		id, lease string
	}{
		{secretRef("prod", "shop"), "applyset-3eMhxrmWrshVG4P3vsSrKe_d4pE71qwAY-JhFz25mc0-v1", "applyset-dde321c6b996aec8551b83f7bec4ab29"},
		{fleet, "applyset-igeAlXkUplKqUdUyr2vEODWA0cMu2BQOr0vfIHC8sdU-v1", "applyset-8a0780957914a652aa51d532af6bc438"},
	} {
		if got := ID(tt.parent); got != tt.id {
			t.Errorf("%s: id %s, want %s", tt.parent, got, tt.id)
		}
		if faults := validation.IsValidLabelValue(ID(tt.parent)); len(faults) > 0 {
			t.Errorf("%s: %v", tt.parent, faults)
		}
		got := LeaseName(tt.parent)
		if got != tt.lease {
			t.Errorf("%s: lease %s, want %s", tt.parent, got, tt.lease)
		}
		if faults := validation.IsDNS1123Subdomain(got); len(faults) > 0 {
			t.Errorf("%s: %v", tt.parent, faults)
		}
	}
}

func TestParseName(t *testing.T) {
	for text, want := range map[string][2]string{
		"shop":                   {"", "shop"},
		"configmap/shop":         {"configmap", "shop"},
		"fleets.example.com/all": {"fleets.example.com", "all"},
		"":                       {},
		"/shop":                  {},
		"secret/":                {},
		"secret/prod/shop":       {},
	} {
		kind, name, err := ParseName(text)
		if kind != want[0] || name != want[1] || (err != nil) != (want[1] == "") {
			t.Errorf("%q: %q %q %v", text, kind, name, err)
		}
	}
}

func kinds(texts ...string) []schema.GroupKind {
	var all []schema.GroupKind
	for _, text := range texts {
		all = append(all, schema.ParseGroupKind(text))
	}
	return all
}

func parent(labels, annotations map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(ParentKind())
	u.SetNamespace("prod")
	u.SetName("shop")
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u
}

// Some parents were written by other tools or by hand.
func TestRead(t *testing.T) {
	id := ID(secretRef("prod", "shop"))
	label := map[string]string{IDLabel: id}
	for name, tt := range map[string]struct {
		live     *unstructured.Unstructured
		want     Promise
		reported bool
		pending  []string
		err      any
	}{
		"kubectl's": {
			live: parent(label, map[string]string{
				ToolingAnnotation: "kubectl/v1.36.3", KindsAnnotation: "ConfigMap,Deployment.apps", NamespacesAnnotation: "",
			}),
			want: Promise{kinds("ConfigMap", "Deployment.apps"), []string{"prod"}}, reported: true,
		},
		"empty": {
			live: parent(label, map[string]string{ToolingAnnotation: "kubectl/v1.36.3", KindsAnnotation: ""}),
			want: Promise{nil, []string{"prod"}}, reported: true,
		},
		"edited by hand": {
			live: parent(label, map[string]string{
				ToolingAnnotation: Tooling, KindsAnnotation: "Secret, ConfigMap,,Secret ", NamespacesAnnotation: "b, a,prod",
			}),
			want: Promise{kinds("ConfigMap", "Secret"), []string{"a", "b", "prod"}}, reported: true,
		},
		"written by an old kubectl": {
			live: parent(label, map[string]string{ToolingAnnotation: "kubectl/v1.27.0", resourcesAnnotation: "deployments.apps,secrets"}),
			want: Promise{nil, []string{"prod"}}, reported: true, pending: []string{"deployments.apps", "secrets"},
		},
		"both annotations": {
			live: parent(label, map[string]string{ToolingAnnotation: Tooling, KindsAnnotation: "Secret", resourcesAnnotation: "configmaps"}),
			want: Promise{kinds("Secret"), []string{"prod"}}, reported: true,
		},
		"written by another tool": {
			live: parent(label, map[string]string{ToolingAnnotation: "example.com/kubectl/v1", KindsAnnotation: "Secret"}),
			want: Promise{kinds("Secret"), []string{"prod"}}, reported: true, err: new(*object.HintedError),
		},
		"no annotations yet": {live: parent(nil, nil), want: Promise{nil, []string{"prod"}}},
		"copied":             {live: parent(map[string]string{IDLabel: ID(secretRef("prod", "old"))}, map[string]string{ToolingAnnotation: Tooling, KindsAnnotation: ""}), want: Promise{nil, []string{"prod"}}, reported: true, err: new(*BrokenError)},
		"without id":         {live: parent(nil, map[string]string{ToolingAnnotation: Tooling, KindsAnnotation: ""}), want: Promise{nil, []string{"prod"}}, reported: true, err: new(*BrokenError)},
		"without tool":       {live: parent(label, map[string]string{KindsAnnotation: ""}), want: Promise{nil, []string{"prod"}}, reported: true, err: new(*BrokenError)},
		"without kinds":      {live: parent(label, map[string]string{ToolingAnnotation: Tooling}), want: Promise{nil, []string{"prod"}}, err: new(*BrokenError)},
	} {
		r := Read(tt.live)
		if diff := cmp.Diff(tt.want, r.Promise); diff != "" || r.Reported != tt.reported {
			t.Errorf("%s: Told is %t, (-want +got):\n%s", name, r.Reported, diff)
		}
		var pending []string
		for _, gr := range r.Resources {
			pending = append(pending, gr.String())
		}
		if !slices.Equal(pending, tt.pending) {
			t.Errorf("%s: %v", name, pending)
		}
		switch err := r.Check(); {
		case tt.err == nil && err != nil, tt.err != nil && !errors.As(err, tt.err):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A rendered parent is read with the rendered promise and the parent's own namespace.
func TestRenderAndReadRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 15))
	for range 2000 {
		r := Record{Parent: secretRef("prod", "shop")}
		p := Promise{}
		for range rng.IntN(5) {
			p.Kinds = append(p.Kinds, schema.GroupKind{Group: []string{"", "apps", "example.com"}[rng.IntN(3)], Kind: fmt.Sprintf("Kind%d", rng.IntN(4))})
			p.Namespaces = append(p.Namespaces, []string{"prod", "a", "b"}[rng.IntN(3)])
		}
		p = p.Union(Promise{})
		u, err := Render(r, p)
		if err != nil {
			t.Fatal(err)
		}
		got := Read(u)
		if !got.Promise.Equal(p.Union(Promise{Namespaces: []string{"prod"}})) || got.Check() != nil || got.Tooling != Tooling {
			t.Fatalf("rendered %v, read back %v: %v", p, got, got.Check())
		}
		if slices.Contains(words(u.GetAnnotations()[NamespacesAnnotation]), "prod") {
			t.Fatalf("%v", u.GetAnnotations())
		}
	}
	if _, err := Render(Record{}, Promise{Namespaces: []string{"a,b"}}); err == nil {
		t.Error("Render accepted a namespace name with a comma")
	}
}

func TestPromise(t *testing.T) {
	p := PromiseOf([]object.Ref{secretRef("b", "x"), secretRef("a", "y"), {GVK: schema.GroupVersionKind{Kind: "Namespace"}, Name: "a"}})
	if diff := cmp.Diff(Promise{kinds("Namespace", "Secret"), []string{"a", "b"}}, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each tool's mark is a claim. Labels that charts and manifests commonly contain are not claims.
func TestClaims(t *testing.T) {
	id := ID(secretRef("prod", "shop"))
	other := ID(secretRef("prod", "other"))
	for name, tt := range map[string]struct {
		labels, annotations map[string]string
		want                []string
	}{
		"nobody":      {},
		"our set":     {labels: map[string]string{PartOfLabel: id}},
		"another set": {labels: map[string]string{PartOfLabel: other}, want: []string{"set " + other}},
		"a rendered chart": {labels: map[string]string{
			"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "web", "helm.sh/chart": "web-1", "app.kubernetes.io/part-of": "web",
		}},
		"Helm": {annotations: map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "prod"}, want: []string{"Helm release prod/web"}},
		"Kustomization": {
			labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
			want:   []string{"Flux Kustomization flux-system/apps"},
		},
		"HelmRelease with a Helm annotation": {
			labels:      map[string]string{"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "prod"},
			annotations: map[string]string{"meta.helm.sh/release-name": "web"},
			want:        []string{"Helm release web", "Flux HelmRelease prod/web"},
		},
		"Argo CD, by annotation": {
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "argo_web:apps/Deployment:prod/web"},
			labels:      map[string]string{"argocd.argoproj.io/instance": "web"},
			want:        []string{"Argo CD Application argo/web"},
		},
		"Argo CD, by label": {labels: map[string]string{"argocd.argoproj.io/instance": "web"}, want: []string{"Argo CD Application web"}},
	} {
		u := parent(tt.labels, tt.annotations)
		var got []string
		for _, c := range Claims(u, id) {
			if u.GetLabels()[c.Mark] == "" && u.GetAnnotations()[c.Mark] == "" {
				t.Errorf("%s: the mark %s is not there", name, c.Mark)
			}
			got = append(got, c.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseAllow(t *testing.T) {
	for text, want := range map[string]string{
		"CustomResourceDefinition": "CustomResourceDefinition.apiextensions.k8s.io", "crds": "CustomResourceDefinition.apiextensions.k8s.io",
		"customresourcedefinitions.apiextensions.k8s.io": "CustomResourceDefinition.apiextensions.k8s.io",
		"ns": "Namespace", "Namespace": "Namespace", "pvc": "PersistentVolumeClaim",
		"Deployment": "", "namespaces.example.com": "", "": "",
	} {
		got, err := ParseAllow(text)
		if got.String() != want || (err != nil) != (want == "") {
			t.Errorf("%q: %s %v", text, got, err)
		}
	}
}
