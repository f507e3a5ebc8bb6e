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
		stated := objectAs(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: ours}}")
		p := Predictor{Manager: "k8sconnect"}
		in, err := p.Evaluate(plan.Item{Ref: object.RefOf(stated), Object: stated}, live)
		if _, in.Conflicts = noop.Evaluate(live, in.Body, p.Manager); err != nil || len(in.Conflicts) != 1 {
			t.Fatalf("%s: %v, %v", manager, in.Conflicts, err)
		}
		offers, err := p.Offers(&in)
		if err != nil || offers.AdoptFrom == manager != (want && manager != managedfields.BeforeFirstApply) {
			t.Errorf("%s: the offers name %q for adoption, error %v", manager, offers.AdoptFrom, err)
		}
		hint := p.leftInWords(&in, []fieldpath.Path{mustParse(t, `.data["a b"]`)}, []string{manager})
		if strings.Contains(hint, "--adopt-from="+manager+" makes") != want {
			t.Errorf("%s: %s", manager, hint)
		}
		if !want && !strings.Contains(hint, ` configmap/c '.data["a b"]' -n shop --from=`+manager+" --to=k8sconnect makes it yours") {
			t.Errorf("%s: %s", manager, hint)
		}
	}
}
