package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

const operator = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: sys}
spec: {template: {spec: {serviceAccountName: op}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: op}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: op}
subjects: [{kind: ServiceAccount, name: op, namespace: sys}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: op}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
- {apiGroups: [GROUP], resources: ["*"], verbs: ["*"]}
`

// Edge case 18: some objects of a set may install a kind that the server does not serve.
func TestBringers(t *testing.T) {
	withGroup := func(group string) string { return strings.ReplaceAll(operator, "GROUP", group) }
	for name, tt := range map[string]struct {
		set    string
		object string // apiVersion Kind name
		want   []string
		onlyIn []string
	}{
		"nothing":                   {object: "x.io/v1 Thing t"},
		"its CRD":                   {set: crd, object: "example.com/v1 Widget w", want: []string{"CustomResourceDefinition/widgets.example.com"}},
		"a CRD without the version": {set: crd, object: "example.com/v0 Widget w", onlyIn: []string{"v1"}},
		"an aggregated API": {
			set: short("apiregistration.k8s.io/v1 APIService v1.x.io"), object: "x.io/v1 Thing t", want: []string{"APIService/v1.x.io"},
		},
		"an aggregated API of another version": {set: short("apiregistration.k8s.io/v1 APIService v2.x.io"), object: "x.io/v1 Thing t"},
		"an operator with a role for its group": {
			set: withGroup("x.io"), object: "x.io/v1 Thing t", want: []string{"Deployment/operator"},
		},
		"an operator with a role for another group": {set: withGroup("y.io"), object: "x.io/v1 Thing t"},
		"an operator with a role for all groups":    {set: withGroup(`"*"`), object: "x.io/v1 Thing t"},
		"role that no workload of the set is bound to": {
			set: strings.ReplaceAll(withGroup("x.io"), "serviceAccountName: op", "serviceAccountName: other"), object: "x.io/v1 Thing t",
		},
		"a controller of a built-in kind":   {set: withGroup("batch"), object: "batch/v1beta1 CronJob c"},
		"a controller of a built-in domain": {set: withGroup("networking.k8s.io"), object: "networking.k8s.io/v1beta1 Ingress i"},
		"operator of a kind of a Kubernetes project": {
			set: withGroup("gateway.networking.k8s.io"), object: "gateway.networking.k8s.io/v1 Gateway g", want: []string{"Deployment/operator"},
		},
		"served kind needs no installer": {set: withGroup("apps"), object: "apps/v1 StatefulSet s"},
	} {
		t.Run(name, func(t *testing.T) {
			in := short(tt.object)
			if tt.set != "" {
				in = tt.set + "\n---\n" + in
			}
			p, err := plan.Build(manifests(t, in), plan.Options{Kinds: builtIn(t)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, phase := range p.Phases {
				for _, it := range phase.Items {
					if it.Name != strings.Fields(tt.object)[2] {
						continue
					}
					if diff := cmp.Diff(tt.onlyIn, it.OnlyIn); diff != "" {
						t.Error(diff)
					}
					for _, key := range it.Bringers {
						got = append(got, key.Kind+"/"+key.Name)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The kinds are those of an API server.
func TestBuiltinKinds(t *testing.T) {
	for gvk, want := range builtIn(t) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		got, known := plan.BuiltinKinds([]object.Manifest{{Object: u}})[gvk]
		if !known || got.GVK != gvk || got.Namespaced != want.Namespaced {
			t.Errorf("%s: known %v, namespaced %v, want %v", gvk, known, got.Namespaced, want.Namespaced)
		}
	}
	if got := plan.BuiltinKinds(manifests(t, shorts("example.com/v1 Widget w", "gateway.networking.k8s.io/v1 Gateway g"))); len(got) > 0 {
		t.Errorf("got built-in kinds %v for custom kinds, want none", got)
	}
}
