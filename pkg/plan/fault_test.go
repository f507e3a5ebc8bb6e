package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"edge case 22: the same object twice": {
			in: shorts("v1 ConfigMap prod/c", "v1 Secret c", "v1 ConfigMap c /namespaces/prod/Secret/c"),
			want: []string{
				"in.yaml:3: configmap/c -n prod: the same object is in the input twice, with different content: also at in.yaml:1",
			},
		},
		"edge case 22: at two versions": {
			in: crd + "\n---\n" + strings.ReplaceAll(crd, "apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n") +
				"\n---\n" + shorts("x.io/v1 Thing t", "x.io/v2 Thing prod/t"),
			want: []string{
				"in.yaml:4: thing.x.io/t -n prod: the same object is in the input twice, with different content: also at in.yaml:3",
			},
		},
		"edge case 22: cluster-scoped objects with namespaces": {
			in: shorts("v1 Namespace a/x", "v1 Namespace b/x /Namespace/default"),
			want: []string{
				"in.yaml:2: namespace/x: the same object is in the input twice, with different content: also at in.yaml:1",
			},
		},
		"depends-on with invalid references": {
			in: shorts("v1 ConfigMap c web Deployment/web /namespaces//ConfigMap/x apps/Deployment/ //x"),
			want: []string{
				`in.yaml:1: configmap/c -n prod: config.kubernetes.io/depends-on: "web" is not a reference`,
				`in.yaml:1: configmap/c -n prod: config.kubernetes.io/depends-on: "Deployment/web" is not a reference`,
				`in.yaml:1: configmap/c -n prod: config.kubernetes.io/depends-on: "/namespaces//ConfigMap/x" is not a reference`,
				`in.yaml:1: configmap/c -n prod: config.kubernetes.io/depends-on: "apps/Deployment/" is not a reference`,
				`in.yaml:1: configmap/c -n prod: config.kubernetes.io/depends-on: "//x" is not a reference`,
			},
		},
		"cycle of two objects reported once, and a self-reference": {
			in: shorts("v1 ConfigMap c /namespaces/prod/ConfigMap/b", "v1 ConfigMap b /namespaces/prod/Secret/a",
				"v1 Secret a /namespaces/prod/ConfigMap/b", "v1 Secret self /namespaces/prod/Secret/self"),
			want: []string{
				"objects depend on each other in a cycle: configmap/b -n prod (in.yaml:2) → secret/a -n prod (in.yaml:3) → configmap/b -n prod",
				"objects depend on each other in a cycle: secret/self -n prod (in.yaml:4) → secret/self -n prod",
			},
		},
		"namespace that depends on an object in it": {
			in: shorts("apps/v1 Deployment new/web", "v1 Namespace new apps/namespaces/new/Deployment/web"),
			want: []string{
				"objects depend on each other in a cycle: deployment.apps/web -n new (in.yaml:1) → namespace/new (in.yaml:2) → deployment.apps/web -n new",
			},
		},
		"a CRD that waits for its object": {
			in: shorts("example.com/v1 Widget w") + "\n---\n" +
				strings.Replace(crd, "  name: widgets", "  annotations: {config.kubernetes.io/depends-on: example.com/namespaces/prod/Widget/w}\n  name: widgets", 1),
			want: []string{
				"objects depend on each other in a cycle: widget.example.com/w -n prod (in.yaml:1) → " +
					"customresourcedefinition.apiextensions.k8s.io/widgets.example.com (in.yaml:2) → widget.example.com/w -n prod",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan.Build(manifests(t, tt.in), plan.Options{Kinds: builtIn(t), Namespace: "prod"})
			if p != nil {
				t.Error("got a plan together with an error, want no plan")
			}
			if diff := cmp.Diff(tt.want, strings.Split(message(err), "\n")); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCycleError(t *testing.T) {
	in := shorts("v1 ConfigMap a /namespaces/prod/ConfigMap/b", "v1 ConfigMap b /namespaces/prod/ConfigMap/a")
	_, err := plan.Build(manifests(t, in), plan.Options{Kinds: builtIn(t), Namespace: "prod"})
	var cycle *plan.CycleError
	if !errors.As(err, &cycle) {
		t.Fatalf("%T, want a *plan.CycleError", err)
	}
	if len(cycle.Members) != 2 || cycle.Members[1].Ref.Name != "b" || cycle.Members[1].Source.Line != 2 {
		t.Errorf("members %v", cycle.Members)
	}
	if hint(err) == "" {
		t.Error("no hint")
	}
}

// An object that is not in the input may exist in the cluster, so it is no fault to depend on it.
func TestDependsOnAbsent(t *testing.T) {
	in := shorts("v1 ConfigMap c apps/namespaces/prod/Deployment/db x.io/Thing/t")
	p, err := plan.Build(manifests(t, in), plan.Options{Kinds: builtIn(t), Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range p.Warnings {
		got = append(got, w.Source.String()+" "+w.Ref.String()+": "+w.Text)
	}
	want := []string{
		"in.yaml:1 configmap/c -n prod: depends on deployment.apps/db -n prod, which is not in the input: the order is not guaranteed",
		"in.yaml:1 configmap/c -n prod: depends on thing.x.io/t, which is not in the input: the order is not guaranteed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// Edge case 22: a duplicate with the same content is no error.
func TestSameContentTwice(t *testing.T) {
	in := manifests(t, shorts("v1 ConfigMap c", "v1 Secret s", "v1 ConfigMap prod/c", "v1 Namespace x", "v1 Namespace prod/x", "x.io/v1 Thing t", "x.io/v1 Thing prod/t"))
	p, err := plan.Build(in, plan.Options{Kinds: builtIn(t), Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for _, w := range p.Warnings {
		warnings = append(warnings, w.Ref.String()+" "+w.Text+w.Detail)
	}
	want := []string{
		"configmap/c -n prod in the input twice with the same content; used once (in.yaml:1 and in.yaml:3)",
		"namespace/x in the input twice with the same content; used once (in.yaml:4 and in.yaml:5)",
		"thing.x.io/t -n prod in the input twice with the same content; used once (in.yaml:6 and in.yaml:7)",
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if n := len(names(p)); n != 4 {
		t.Errorf("%d objects in the plan, want 4: %v", n, names(p))
	}
}

func names(p *plan.Plan) []string {
	var all []string
	for _, ph := range p.Phases {
		for _, it := range ph.Items {
			all = append(all, it.String())
		}
	}
	return all
}

// Faulty objects, including both copies of a duplicate, are omitted. Other objects no longer need
// them.
func TestSkipInvalid(t *testing.T) {
	in := manifests(t, shorts(
		"v1 ConfigMap twice", "v1 ConfigMap twice /namespaces/prod/Secret/s", "v1 Secret s nonsense",
		"v1 ConfigMap other/ns", "v1 ConfigMap good /namespaces/prod/ConfigMap/twice"))
	o := plan.Options{Kinds: builtIn(t), Namespace: "prod", Enforced: true, SkipInvalid: true}
	p, err := plan.Build(in, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"configmap/good -n prod"}, names(p)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	if len(p.Invalid) != 4 {
		t.Errorf("faults %v, want one for each omitted object", p.Invalid)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Text, "depends on configmap/twice -n prod, which is not in the input") {
		t.Errorf("warnings %v: want one about the order that is not guaranteed", p.Warnings)
	}
	o.SkipInvalid = false
	if _, err := plan.Build(in, o); len(strings.Split(message(err), "\n")) != 3 {
		t.Errorf("without SkipInvalid: got error %v, want three lines", err)
	}
	// With LastWins, Build uses the last manifest of an object, like kubectl.
	p, err = plan.Build(in[:2], plan.Options{Kinds: builtIn(t), Namespace: "prod", LastWins: true})
	if err != nil || len(names(p)) != 1 || p.Phases[0].Items[0].Source != in[1].Source || len(p.Warnings) == 0 {
		t.Errorf("LastWins: got %v, %v, %v, want the last manifest and a warning", names(p), p, err)
	}
}

func TestFaultsWithoutKinds(t *testing.T) {
	in := manifests(t, shorts("apps/v1 Deployment web", "apps/v1 Deployment prod/web web", "v1 Secret s"))
	faults := plan.Faults(in, plan.Options{Namespace: "prod"})
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "twice") {
		t.Errorf("faults %v, want the two deployments", faults)
	}
}
