package tracker_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// A kind is tracked while its definition exists.
func TestDefinition(t *testing.T) {
	w := newWorld(t, shared.Cluster(t))
	r := w.track(t, true)
	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	for range 2 {
		r.forget()
		w.apply(t, "admin", definitions, "", widgets)
		eventually(t, "watched", func() bool { return w.checkpoint(t).Resources["widgets.example.com"].Version != "" })
		w.apply(t, "argo", resource, w.work, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {k: 1}}`)
		w.apply(t, "flux", resource, w.work, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {k: 2}}`)
		r.expect(t, "Widget/one: .spec.k lost by argo (Apply) to flux (Apply)")
		if err := w.dynamic.Resource(definitions).Delete(t.Context(), "widgets.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "not watched", func() bool { return w.checkpoint(t).Resources["widgets.example.com"].Version == "" })
	}
}

// Kinds that may not be read delay nothing, and are counted; all others are tracked.
func TestRefused(t *testing.T) {
	w := newWorld(t, shared.Cluster(t))
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}
	if _, err := w.typed.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "some"}, Rules: []rbacv1.PolicyRule{rule},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.typed.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "some"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "some"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "limited"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.claim(t, "a")
	r := w.track(t, true, w.as(t, "limited"))
	r.expect(t, w.takeOver(t, "a")...)
	if watched := r.metric(t, "k8sconnect_tracker_kinds_watched"); watched != 1 {
		t.Errorf("%v kinds are watched, want 1", watched)
	}
	if refused := r.metric(t, "k8sconnect_tracker_kinds_refused"); refused < 20 {
		t.Errorf("%v kinds are refused, want at least 20", refused)
	}
}

func (r *replica) metric(t *testing.T, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(r.Tracker)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if m := f.GetMetric()[0]; f.GetName() == name {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
