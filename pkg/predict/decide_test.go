package predict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// ruled has the choices of one test case in the syntax of flags.
type ruled struct{ take, yield, annotation, fileTake, fileYield string }

// webhookOf returns a webhook configuration with CA bundles that cainjector set and a policy that a
// user edited.
func webhookOf(t *testing.T, annotation string) (plan.Item, *unstructured.Unstructured) {
	t.Helper()
	const text = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: x}, webhooks: [" +
		"{name: a, failurePolicy: %[1]s, clientConfig: {caBundle: %[1]s}}, {name: b, failurePolicy: %[1]s, clientConfig: {caBundle: %[1]s}}]}"
	declared, live := objectAs(t, fmt.Sprintf(text, "stated")), objectAs(t, fmt.Sprintf(text, "live"))
	held := func(manager string, paths ...string) any {
		set := fieldpath.NewSet()
		for _, p := range paths {
			fieldpath.Insert(set, mustParse(t, p))
		}
		tree, err := fieldpath.ToTree(set)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"manager": manager, "operation": "Update", "apiVersion": live.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": tree}
	}
	live.Object["metadata"].(map[string]any)["managedFields"] = []any{
		held("cainjector", `.webhooks[name="a"].clientConfig.caBundle`, `.webhooks[name="b"].clientConfig.caBundle`),
		held("kubectl-edit", `.webhooks[name="a"].failurePolicy`),
	}
	if annotation != "" {
		declared.SetAnnotations(map[string]string{YieldAnnotation: annotation})
	}
	return plan.Item{Ref: object.RefOf(declared), Object: declared, Kind: object.Kind{GVK: declared.GroupVersionKind(), Resource: "validatingwebhookconfigurations"}}, live
}

func parsed(t *testing.T, text, from string) []Choice {
	t.Helper()
	if text == "" {
		return nil
	}
	all, err := ParseChoices(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].From = from; from != "" && all[i].Manager == "" && strings.HasSuffix(from, "yield") {
			all[i].Manager = AnyManager
		}
	}
	return all
}

// Flags outrank the object's annotation, which outranks a file, which outranks the built-in table.
// But only a take of exactly the path overrides a field that is always left to others.
func TestPrecedence(t *testing.T) {
	const ca, policy = ".webhooks[*].clientConfig.caBundle", ".webhooks[*].failurePolicy"
	const caA, caB, policyA = `.webhooks[name="a"].clientConfig.caBundle`, `.webhooks[name="b"].clientConfig.caBundle`, `.webhooks[name="a"].failurePolicy`
	for name, tt := range map[string]struct {
		ruled
		want []string
	}{
		"built-in table only":           {ruled{}, []string{"left " + caA, "left " + caB}},
		"all taken":                     {ruled{take: "all"}, []string{"left " + caA, "left " + caB, "taken " + policyA + " --take"}},
		"the file takes all":            {ruled{fileTake: "all"}, []string{"left " + caA, "left " + caB, "taken " + policyA + " file:take"}},
		"the file takes by name":        {ruled{fileTake: ca}, []string{"taken " + caA + " file:take", "taken " + caB + " file:take"}},
		"a flag takes by name":          {ruled{take: caA}, []string{"left " + caB, "taken " + caA + " --take"}},
		"a flag before the file":        {ruled{take: policy, fileTake: policy}, []string{"left " + caA, "left " + caB, "taken " + policyA + " --take"}},
		"the file yields, and takes":    {ruled{fileYield: policy, fileTake: "all"}, []string{"left " + caA, "left " + caB, "yielded " + policyA + " file:yield"}},
		"file yields, but a flag takes": {ruled{fileYield: policy, take: policyA}, []string{"left " + caA, "left " + caB, "overruled " + policyA + " file:yield", "taken " + policyA + " --take"}},
		"the file yields to all taken":  {ruled{fileYield: policy, take: "all"}, []string{"left " + caA, "left " + caB, "yielded " + policyA + " file:yield"}},
		"annotation, and the file":      {ruled{annotation: policyA, fileTake: policy}, []string{"left " + caA, "left " + caB, "yielded " + policyA + " " + YieldAnnotation}},
		"annotation, and a flag":        {ruled{annotation: policy, take: policyA}, []string{"left " + caA, "left " + caB, "overruled " + policyA + " " + YieldAnnotation, "taken " + policyA + " --take", "yielded " + `.webhooks[name="b"].failurePolicy ` + YieldAnnotation}},
		"a flag yields":                 {ruled{yield: policyA, take: policyA, fileTake: policyA}, []string{"left " + caA, "left " + caB, "yielded " + policyA + " --yield"}},
		"by manager":                    {ruled{yield: "manager=kubectl-edit"}, []string{"left " + caA, "left " + caB, "yielded " + policyA + " --yield"}},
		"by manager, in an annotation":  {ruled{annotation: "manager=kubectl-*"}, []string{"left " + caA, "left " + caB, "yielded " + policyA + " " + YieldAnnotation}},
		"by manager, of a path":         {ruled{fileYield: "manager=cainjector:" + policy}, []string{"left " + caA, "left " + caB}},
		"by manager, of all it has":     {ruled{fileYield: "manager=cainjector"}, []string{"yielded " + caA + " file:yield", "yielded " + caB + " file:yield"}},
		"taken from a manager":          {ruled{fileTake: "manager=kubectl-*"}, []string{"left " + caA, "left " + caB, "taken " + policyA + " file:take"}},
		"taken from another":            {ruled{take: "manager=kubectl"}, []string{"left " + caA, "left " + caB}},
		"a rule of another kind":        {ruled{fileYield: "mutatingwebhookconfiguration:" + policy}, []string{"left " + caA, "left " + caB}},
	} {
		t.Run(name, func(t *testing.T) {
			item, live := webhookOf(t, tt.annotation)
			heard := map[string]bool{}
			p := Predictor{
				Manager: "k8sconnect", Take: parsed(t, tt.take, ""), Yield: parsed(t, tt.yield, ""),
				Standing: Standing{Take: parsed(t, tt.fileTake, "file:take"), Yield: parsed(t, tt.fileYield, "file:yield")},
				OnDecision: func(d Decision) {
					if d.Outcome != Matched {
						heard[strings.TrimSpace(fmt.Sprint(d.Outcome, " ", d.Path, " ", d.Source))] = true
					}
				},
			}
			out, err := p.Evaluate(item, live)
			if err != nil {
				t.Fatal(err)
			}
			var contested []managedfields.Conflict
			for path, by := range map[string]string{caA: "cainjector", caB: "cainjector", policyA: "kubectl-edit"} {
				path := mustParse(t, path)
				if v, _ := path.Get(out.Body.Object); v == "stated" {
					contested = append(contested, managedfields.Conflict{Path: path, Owners: []managedfields.Owner{{Manager: by}}})
				}
			}
			p.classify(&out, contested)
			var got []string
			for line := range heard {
				got = append(got, line)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An absent object has no owners, so rules by manager do not apply, and the manifest provides
// initial values.
func TestStandingYieldOfAnAbsentObject(t *testing.T) {
	item, _ := webhookOf(t, "manager=cainjector")
	p := Predictor{Manager: "k8sconnect", Standing: Standing{Yield: parsed(t, "manager=*,.webhooks[*].failurePolicy", "file:yield")}}
	out, err := p.Evaluate(item, nil)
	if err != nil || len(out.Yielded) > 0 || !cmp.Equal(out.Body.Object, item.Object.Object) {
		t.Errorf("%v, %v", out.Yielded, err)
	}
}
