package plan_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Edge case 24: the scope comes from discovery, the namespace from -n, the manifest or the context.
func TestNamespace(t *testing.T) {
	for name, tt := range map[string]struct {
		in        string
		namespace string
		enforced  bool
		want      string // namespace of the item and of the object to be sent
		wantErr   string
	}{
		"the manifest's":              {in: "v1 ConfigMap a/c", namespace: "prod", want: "a"},
		"the context's":               {in: "v1 ConfigMap c", namespace: "prod", want: "prod"},
		"neither":                     {in: "v1 ConfigMap c", want: "default"},
		"-n":                          {in: "v1 ConfigMap c", namespace: "prod", enforced: true, want: "prod"},
		"-n and the manifest's agree": {in: "v1 ConfigMap prod/c", namespace: "prod", enforced: true, want: "prod"},
		"-n contradicts the manifest": {
			in: "v1 ConfigMap a/c", namespace: "prod", enforced: true,
			wantErr: `in.yaml:1: configmap/c -n a: namespace "a" in the manifest, but -n prod`,
		},
		"removed from a cluster-scoped kind":            {in: "rbac.authorization.k8s.io/v1 ClusterRole a/r", namespace: "prod", want: ""},
		"removed from a cluster-scoped kind despite -n": {in: "v1 Namespace a/n", namespace: "prod", enforced: true, want: ""},
		"as written where the scope is not known":       {in: "x.io/v1 Thing a/t", namespace: "prod", want: "a"},
		"not set where the scope is not known":          {in: "x.io/v1 Thing t", namespace: "prod", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			ms := manifests(t, shorts(tt.in))
			before := ms[0].Object.DeepCopy()
			p, err := plan.Build(ms, plan.Options{Kinds: builtIn(t), Namespace: tt.namespace, Enforced: tt.enforced})
			if diff := cmp.Diff(tt.wantErr, message(err)); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, ms[0].Object.Object); diff != "" {
				t.Errorf("the manifest was changed (-before +after):\n%s", diff)
			}
			if err != nil {
				return
			}
			it := p.Phases[0].Items[0]
			if it.Namespace != tt.want || it.Object.GetNamespace() != tt.want {
				t.Errorf("item in %q, object in %q, want %q", it.Namespace, it.Object.GetNamespace(), tt.want)
			}
		})
	}
}

func TestKind(t *testing.T) {
	ms := manifests(t, crd+"\n---\n"+shorts("example.com/v1 Widget w", "x.io/v1 Thing t", "apps/v1 Deployment d"))
	p, err := plan.Build(ms, plan.Options{Kinds: builtIn(t)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]object.Kind{}
	for _, phase := range p.Phases {
		for _, it := range phase.Items {
			got[it.GVK.Kind] = it.Kind
		}
	}
	want := map[string]object.Kind{
		"CustomResourceDefinition": builtIn(t)[schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}],
		"Deployment":               builtIn(t)[schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}],
		"Widget":                   {GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Namespaced: true},
		"Thing":                    {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// Edge case 18: the scope of a kind is known once an operator has installed the kind.
func TestResolve(t *testing.T) {
	o := plan.Options{Kinds: builtIn(t), Namespace: "prod", Enforced: true}
	p, err := plan.Build(manifests(t, shorts("x.io/v1 Thing t", "x.io/v1 Thing other/u")), o)
	if err != nil {
		t.Fatal(err)
	}
	first, second := p.Phases[0].Items[0], p.Phases[0].Items[1]
	gvk := schema.GroupVersionKind{Group: "x.io", Version: "v1", Kind: "Thing"}

	got, err := first.Resolve(object.Kind{GVK: gvk, Resource: "things", Namespaced: true}, o)
	if err != nil || got.Namespace != "prod" || got.Object.GetNamespace() != "prod" || got.Kind.Resource != "things" {
		t.Errorf("namespaced: %+v, %v", got, err)
	}
	if first.Namespace != "" || first.Object.GetNamespace() != "" {
		t.Error("Resolve changed the item it was called on")
	}
	got, err = second.Resolve(object.Kind{GVK: gvk, Resource: "things"}, o)
	if err != nil || got.Namespace != "" || got.Object.GetNamespace() != "" {
		t.Errorf("not namespaced: %+v, %v", got, err)
	}
	_, err = second.Resolve(object.Kind{GVK: gvk, Resource: "things", Namespaced: true}, o)
	if want := `in.yaml:2: thing.x.io/u -n other: namespace "other" in the manifest, but -n prod`; message(err) != want {
		t.Errorf("error %q, want %q", message(err), want)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
