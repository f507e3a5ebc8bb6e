package plan_test

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// builtIn returns the kinds of an API server 1.36.
func builtIn(t testing.TB) map[schema.GroupVersionKind]object.Kind {
	t.Helper()
	f, err := os.Open("testdata/kinds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kinds := map[schema.GroupVersionKind]object.Kind{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		gvk := schema.FromAPIVersionAndKind(fields[0], fields[2])
		kinds[gvk] = object.Kind{GVK: gvk, Namespaced: fields[1] == "true", Resource: fields[3]}
	}
	return kinds
}

// manifests parses documents separated by ---. The line of a document is its number.
func manifests(t testing.TB, text string) []object.Manifest {
	t.Helper()
	var ms []object.Manifest
	for i, doc := range strings.Split(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		ms = append(ms, object.Manifest{Object: u, Source: object.Source{File: "in.yaml", Line: i + 1}})
	}
	return ms
}

// short parses "APIVERSION KIND NAMESPACE/NAME", followed by depends-on references.
func short(line string) string {
	fields := strings.Fields(line)
	namespace, name, found := strings.Cut(fields[2], "/")
	if !found {
		namespace, name = "", fields[2]
	}
	doc := "apiVersion: " + fields[0] + "\nkind: " + fields[1] + "\nmetadata:\n  name: " + name + "\n"
	if namespace != "" {
		doc += "  namespace: " + namespace + "\n"
	}
	if len(fields) > 3 {
		doc += "  annotations:\n    config.kubernetes.io/depends-on: " + strings.Join(fields[3:], ",") + "\n"
	}
	return doc
}

func shorts(lines ...string) string {
	docs := make([]string, len(lines))
	for i, line := range lines {
		docs[i] = short(line)
	}
	return strings.Join(docs, "\n---\n")
}

func called(ref object.Ref) string {
	return strings.Join(slices.DeleteFunc([]string{ref.GVK.Kind, ref.Namespace, ref.Name}, func(s string) bool { return s == "" }), "/")
}

// outline returns a plan in lines of "PHASE: KIND/NAMESPACE/NAME KIND/NAME".
func outline(p *plan.Plan) []string {
	var lines []string
	for _, phase := range p.Phases {
		line := phase.Name + ":"
		for _, it := range phase.Items {
			line += " " + called(it.Ref)
		}
		lines = append(lines, line)
	}
	return lines
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v0, served: false}
`

func TestPhases(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"no phase for a class without objects": {
			in:   shorts("v1 ConfigMap a"),
			want: []string{"configuration: ConfigMap/prod/a"},
		},
		"edge case 18: a CRD and its object in one run": {
			in:   shorts("example.com/v1 Widget w") + "\n---\n" + crd,
			want: []string{"CRDs and namespaces: CustomResourceDefinition/widgets.example.com", "workloads: Widget/prod/w"},
		},
		"edge case 18: a version that the CRD does not serve is unknown": {
			in:   shorts("example.com/v0 Widget w") + "\n---\n" + crd,
			want: []string{"CRDs and namespaces: CustomResourceDefinition/widgets.example.com", "unknown kinds: Widget/w"},
		},
		"edge case 18: a kind that only an operator of the set can install": {
			in: shorts("cert-manager.io/v1 Issuer i", "apps/v1 Deployment operator",
				"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration w"),
			want: []string{
				"workloads: Deployment/prod/operator",
				"webhooks: ValidatingWebhookConfiguration/w", "unknown kinds: Issuer/i",
			},
		},
		"edge case 19: a namespace and its contents in one run": {
			in: shorts("apps/v1 Deployment new/web", "v1 Secret new/s", "v1 Namespace new"),
			want: []string{
				"CRDs and namespaces: Namespace/new", "configuration: Secret/new/s",
				"workloads: Deployment/new/web",
			},
		},
		"edge case 20: webhooks, policies and aggregated APIs come after their backends": {
			in: shorts("admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding b",
				"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy p",
				"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration m",
				"apiregistration.k8s.io/v1 APIService v1.metrics.example.com",
				"apps/v1 Deployment hook", "v1 Service hook"),
			want: []string{
				"configuration: Service/prod/hook", "workloads: Deployment/prod/hook",
				"webhooks: ValidatingAdmissionPolicyBinding/b ValidatingAdmissionPolicy/p " +
					"MutatingWebhookConfiguration/m APIService/v1.metrics.example.com",
			},
		},
		"input order within a phase": {
			in:   shorts("v1 Secret z", "v1 ConfigMap a", "v1 Secret b"),
			want: []string{"configuration: Secret/prod/z ConfigMap/prod/a Secret/prod/b"},
		},
		"a binding after its role, in a phase of its own": {
			in: shorts("v1 ServiceAccount sa") + roleBinding("Role", "r") + "\n---\n" +
				shorts("rbac.authorization.k8s.io/v1 Role r"),
			want: []string{
				"configuration: ServiceAccount/prod/sa Role/prod/r",
				"configuration 2: RoleBinding/prod/bind",
			},
		},
		"a binding whose role is not in the set": {
			in:   shorts("v1 ServiceAccount sa") + roleBinding("ClusterRole", "view"),
			want: []string{"configuration: ServiceAccount/prod/sa RoleBinding/prod/bind"},
		},
		"roles are in the phase of the CRDs if there is one": {
			in: shorts("v1 Namespace other", "rbac.authorization.k8s.io/v1 ClusterRole r") + roleBinding("ClusterRole", "r"),
			want: []string{
				"CRDs and namespaces: Namespace/other ClusterRole/r",
				"configuration: RoleBinding/prod/bind",
			},
		},
		"role in a new namespace is not in the phase of the CRDs": {
			in: shorts("v1 Namespace prod", "rbac.authorization.k8s.io/v1 Role r", "v1 ConfigMap c") + roleBinding("Role", "r"),
			want: []string{
				"CRDs and namespaces: Namespace/prod", "configuration: Role/prod/r ConfigMap/prod/c",
				"configuration 2: RoleBinding/prod/bind",
			},
		},
		"a token after its service account, or its controller deletes it": {
			in: `apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: token
  annotations: {kubernetes.io/service-account.name: robot}
---
` + shorts("v1 ServiceAccount robot"),
			want: []string{"configuration: ServiceAccount/prod/robot", "configuration 2: Secret/prod/token"},
		},
		"depends-on within a class": {
			in: shorts("apps/v1 Deployment web apps/namespaces/prod/StatefulSet/db", "apps/v1 StatefulSet db"),
			want: []string{
				"workloads: StatefulSet/prod/db",
				"workloads 2: Deployment/prod/web",
			},
		},
		"depends-on outranks the order of classes": {
			in:   shorts("v1 ConfigMap late apps/namespaces/prod/Deployment/web", "apps/v1 Deployment web", "v1 ConfigMap c"),
			want: []string{"configuration: ConfigMap/prod/c", "workloads: Deployment/prod/web", "workloads 2: ConfigMap/prod/late"},
		},
		"depends-on with a cluster-scoped object and several references": {
			in: shorts("v1 ConfigMap c /Namespace/other /namespaces/prod/Secret/s", "v1 Namespace other", "v1 Secret s"),
			want: []string{
				"CRDs and namespaces: Namespace/other", "configuration: Secret/prod/s",
				"configuration 2: ConfigMap/prod/c",
			},
		},
		"depends-on between unknown kinds, named either way": {
			in:   shorts("x.io/v1 B b x.io/A/a", "x.io/v1 A a", "x.io/v1 C c x.io/namespaces/prod/A/a"),
			want: []string{"unknown kinds: A/a", "unknown kinds 2: B/b C/c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan.Build(manifests(t, tt.in), plan.Options{Kinds: builtIn(t), Namespace: "prod"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, outline(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func roleBinding(kind, name string) string {
	return "\n---\n" + short("rbac.authorization.k8s.io/v1 RoleBinding bind") +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: " + kind + ", name: " + name + "}\n"
}

func TestNeeds(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string // the test is about the last object
		want []object.Key
	}{
		"nothing that is not in the set": {
			in: shorts("apps/v1 Deployment web"),
		},
		"namespace": {
			in:   shorts("v1 Namespace prod", "apps/v1 Deployment web"),
			want: []object.Key{{Kind: "Namespace", Name: "prod"}},
		},
		"crd": {
			in: crd + "\n---\n" + shorts("example.com/v1 Widget w"),
			want: []object.Key{
				{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets.example.com"},
			},
		},
		"aggregated API of an unknown kind": {
			in:   shorts("apiregistration.k8s.io/v1 APIService v1.x.io", "x.io/v1 Thing t"),
			want: []object.Key{{Group: "apiregistration.k8s.io", Kind: "APIService", Name: "v1.x.io"}},
		},
		"objects that admission looks up for a pod": {
			in: shorts("v1 ServiceAccount robot", "scheduling.k8s.io/v1 PriorityClass high", "node.k8s.io/v1 RuntimeClass kata") + `
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {serviceAccountName: robot, priorityClassName: high, runtimeClassName: kata}
`,
			want: []object.Key{
				{Kind: "ServiceAccount", Namespace: "prod", Name: "robot"},
				{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: "high"},
				{Group: "node.k8s.io", Kind: "RuntimeClass", Name: "kata"},
			},
		},
		"repeated need listed once": {
			in:   shorts("v1 Namespace prod", "v1 ConfigMap c /Namespace/prod /Namespace/prod"),
			want: []object.Key{{Kind: "Namespace", Name: "prod"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ms := manifests(t, tt.in)
			p, err := plan.Build(ms, plan.Options{Kinds: builtIn(t), Namespace: "prod"})
			if err != nil {
				t.Fatal(err)
			}
			for _, phase := range p.Phases {
				for _, it := range phase.Items {
					if it.Source.Line != len(ms) {
						continue
					}
					if diff := cmp.Diff(tt.want, it.Needs); diff != "" {
						t.Errorf("needs (-want +got):\n%s", diff)
					}
				}
			}
		})
	}
}
