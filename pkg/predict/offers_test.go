package predict

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

// Conflict reports and hints offer adoption from tools. A person's change with kubectl is a hotfix,
// so a hint offers to give its fields. The managers are those of kubectl 1.36 and of some tools.
func TestAdoptionIsOfferedForTools(t *testing.T) {
	tools := "helm flux kustomize-controller argocd-controller kubectl kubectl-client-side-apply before-first-apply terraform"
	people := "annotate autoscale create debug edit expose label last-applied patch replace rollout run scale set taint"
	offered := map[string]bool{}
	for manager := range strings.FieldsSeq(tools) {
		offered[manager] = true
	}
	for command := range strings.FieldsSeq(people) {
		offered["kubectl-"+command] = false
	}
	for manager, want := range offered {
		live := objectAs(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: theirs}}")
		_ = unstructured.SetNestedSlice(live.Object, []any{map[string]any{
			"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:data": map[string]any{"f:a": map[string]any{}}},
		}}, "metadata", "managedFields")
		declared := objectAs(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: ours}}")
		p := Predictor{Manager: "k8sconnect"}
		in, err := p.Evaluate(plan.Item{Ref: object.RefOf(declared), Object: declared}, live)
		if _, in.Conflicts = noop.Evaluate(live, in.Body, p.Manager); err != nil || len(in.Conflicts) != 1 {
			t.Fatalf("%s: %v, %v", manager, in.Conflicts, err)
		}
		offers, err := p.Offers(&in)
		if err != nil || offers.AdoptFrom == manager != (want && manager != managedfields.BeforeFirstApply) {
			t.Errorf("%s: the offers name %q for adoption, error %v", manager, offers.AdoptFrom, err)
		}
		hint := p.leftInWords(&in, []fieldpath.Path{mustParse(t, `.data["a b"]`)}, []string{manager})
		if strings.Contains(hint, "use --adopt-from="+manager+" to make") != want {
			t.Errorf("%s: %s", manager, hint)
		}
		if !want && !strings.Contains(hint, ` configmap/c '.data["a b"]' -n shop --from=`+manager+" --to=k8sconnect to make it yours") {
			t.Errorf("%s: %s", manager, hint)
		}
	}
}

// If all fields of a map belong to the adopted manager, and the manifest states the map as empty,
// the server would turn the map into null, which the schema of a custom resource does not allow.
func TestAdoptionThatLeavesNullIsNotOffered(t *testing.T) {
	const (
		custom  = "apiVersion: example.com/v1, kind: Thing, metadata: {name: x, namespace: shop}"
		builtIn = "apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: shop}"
	)
	for name, test := range map[string]struct {
		declared, live string
		helm, edit     string // owned fields
		want           string
	}{
		"map emptied":            {"{" + custom + ", spec: {s: a, m: {}}}", "{" + custom + ", spec: {s: b, m: {k: v}}}", "{f:spec: {f:s: {}, f:m: {f:k: {}}}}", "{}", ""},
		"map inside a list item": {"{" + custom + ", spec: {s: a, l: [{name: i, m: {}}]}}", "{" + custom + ", spec: {s: b, l: [{name: i, m: {k: v}}]}}", `{f:spec: {f:s: {}, f:l: {'k:{"name":"i"}': {.: {}, f:name: {}, f:m: {f:k: {}}}}}}`, "{}", ""},
		"set emptied":            {"{" + custom + ", spec: {s: a, l: []}}", "{" + custom + ", spec: {s: b, l: [v]}}", `{f:spec: {f:s: {}, f:l: {'v:"v"': {}}}}`, "{}", ""},
		"map with a field of another manager": {
			"{" + custom + ", spec: {s: a, m: {}}}", "{" + custom + ", spec: {s: b, m: {k: v, other: v}}}",
			"{f:spec: {f:s: {}, f:m: {f:k: {}}}}", "{f:spec: {f:m: {f:other: {}}}}", "helm",
		},
		"map with a field without an owner": {"{" + custom + ", spec: {s: a, m: {}}}", "{" + custom + ", spec: {s: b, m: {k: v, default: v}}}", "{f:spec: {f:s: {}, f:m: {f:k: {}}}}", "{}", "helm"},
		"map that keeps a field":            {"{" + custom + ", spec: {s: a, m: {k: v}}}", "{" + custom + ", spec: {s: b, m: {k: v, l: v}}}", "{f:spec: {f:s: {}, f:m: {f:k: {}, f:l: {}}}}", "{}", "helm"},
		"built-in kind":                     {"{" + builtIn + ", data: {s: a}, binaryData: {}}", "{" + builtIn + ", data: {s: b}, binaryData: {k: dg==}}", "{f:data: {f:s: {}}, f:binaryData: {f:k: {}}}", "{}", "helm"},
	} {
		t.Run(name, func(t *testing.T) {
			live, declared := objectAs(t, test.live), objectAs(t, test.declared)
			var entries []any
			for manager, fields := range map[string]string{"helm": test.helm, "edit": test.edit} {
				if fields != "{}" {
					entries = append(entries, map[string]any{
						"manager": manager, "operation": "Update", "apiVersion": live.GetAPIVersion(), "fieldsType": "FieldsV1",
						"fieldsV1": objectAs(t, fields).Object,
					})
				}
			}
			_ = unstructured.SetNestedSlice(live.Object, entries, "metadata", "managedFields")
			p := Predictor{Manager: "k8sconnect"}
			in, err := p.Evaluate(plan.Item{Ref: object.RefOf(declared), Object: declared}, live)
			if err != nil {
				t.Fatal(err)
			}
			_, all := noop.Evaluate(live, in.Body, p.Manager)
			for _, c := range all {
				if strings.HasSuffix(c.Path.String(), ".s") {
					in.Conflicts = append(in.Conflicts, c)
				}
			}
			offers, err := p.Offers(&in)
			if err != nil || len(in.Conflicts) != 1 || offers.AdoptFrom != test.want {
				t.Errorf("conflicts %v: the offers name %q for adoption, want %q; error %v", in.Conflicts, offers.AdoptFrom, test.want, err)
			}
		})
	}
}
