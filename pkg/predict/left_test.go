package predict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Only a --take of exactly the path overrides the built-in table or an annotation.
func TestTakeOfFieldsLeftToOthers(t *testing.T) {
	const admission = "apiVersion: admissionregistration.k8s.io/v1\nmetadata: {name: x}\nwebhooks: [{name: a, clientConfig: {caBundle: %s}}, {name: b}]\nkind: "
	for _, tt := range []struct{ manifest, path, by string }{
		{
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}, aggregationRule: {}, rules: [{verbs: [%s]}]}",
			".rules", "clusterrole-aggregation-controller",
		},
		{admission + "ValidatingWebhookConfiguration", `.webhooks[name="a"].clientConfig.caBundle`, "cainjector"},
		{admission + "MutatingWebhookConfiguration", `.webhooks[name="a"].clientConfig.caBundle`, "cainjector"},
		{
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {conversion: {webhook: {clientConfig: {caBundle: %s}}}}}",
			".spec.conversion.webhook.clientConfig.caBundle", "cainjector",
		},
		{"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: x}, spec: {caBundle: %s}}", ".spec.caBundle", "cainjector"},
		{
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, annotations: {deployment.kubernetes.io/revision: %s}}}",
			`.metadata.annotations["deployment.kubernetes.io/revision"]`, "kube-controller-manager",
		},
	} {
		path := mustParse(t, tt.path)
		declared, live := objectAs(t, fmt.Sprintf(tt.manifest, "stated")), objectAs(t, fmt.Sprintf(tt.manifest, "live"))
		held, err := fieldpath.ToTree(fieldpath.NewSet(path))
		if err != nil {
			t.Fatal(err)
		}
		live.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
			"manager": tt.by, "operation": "Update", "apiVersion": live.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": held,
		}}
		designed := plan.Item{Ref: object.RefOf(declared), Object: declared}
		annotated := designed
		annotated.Object = declared.DeepCopy()
		annotations := declared.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[YieldAnnotation] = tt.path
		annotated.Object.SetAnnotations(annotations)

		takes := []fieldpath.Path{nil, mustParse(t, tt.path+".x"), mustParse(t, `.webhooks[name="b"].clientConfig.caBundle`), mustParse(t, ".spec.other")}
		for n := 1; n <= len(path); n++ {
			takes = append(takes, path[:n])
		}
		for _, take := range takes {
			p := Predictor{Manager: "k8sconnect", Take: []Choice{{Path: fieldpath.Pattern(take)}}}
			left, err := p.left(&Prediction{Live: live}, designed, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			yielded, err := p.yields(annotated, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := take.String() != tt.path; (len(left) > 0) != want || (len(yielded) > 0) != want {
				t.Errorf("%s, --take=%s: left by the table %v, yielded by annotation %v, want left and yielded: %v", declared.GetKind(), p.Take[0], left, yielded, want)
			}
		}
	}
}

// Each way to write a path matches the same field, and no other field.
func TestTakeInAnotherSpelling(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 4))
	tried, same := 0, 0
	for range 300 {
		declared, fields := randomPorts(r)
		for _, one := range fields {
			for _, other := range fields {
				item := plan.Item{Object: &unstructured.Unstructured{Object: declared}}
				choices, err := ParseChoices(other.text)
				if err != nil {
					t.Fatal(err)
				}
				p := Predictor{Take: choices}
				_, got := p.takerByName(p.Take, item, mustParse(t, one.text), nil)
				if want := one.field == other.field; got != want {
					t.Fatalf("%v: --take for %s, written as %s: matched %v, want %v", declared, one.text, other.text, got, want)
				}
				tried++
				if got && one.text != other.text {
					same++
				}
			}
		}
	}
	if same < tried/100 {
		t.Errorf("only %d of %d pairs are the same field in different spellings", same, tried)
	}
}

// written is one way to write the path of a field; number identifies the field.
type written struct {
	field int
	text  string
}

// randomPorts returns an object with ports of distinct keys, some without a protocol, and all ways
// to write the paths in it.
func randomPorts(r *rand.Rand) (map[string]any, []written) {
	var ports []any
	var all []written
	var seen []int
	for range 1 + r.IntN(3) {
		port := r.IntN(4)
		if slices.Contains(seen, port) {
			continue
		}
		seen = append(seen, port)
		item := map[string]any{"port": int64(port), "name": "x"}
		keys := []string{fmt.Sprintf("[port=%d]", port), fmt.Sprintf("[port=%d.0]", port)}
		protocol := []string{"TCP", "UDP", ""}[r.IntN(3)]
		if protocol != "" {
			item["protocol"] = protocol
			keys = append(keys, fmt.Sprintf(`[protocol=%s,port=%d]`, protocol, port))
		} else {
			keys = append(keys, fmt.Sprintf(`[port=%d,protocol=TCP]`, port))
		}
		for _, key := range keys {
			all = append(all, written{len(ports) * 2, ".spec.ports" + key}, written{len(ports)*2 + 1, "spec.ports" + key + ".name"})
		}
		ports = append(ports, item)
	}
	all = append(all, written{-1, ".spec"}, written{-2, "spec.ports"}, written{-3, ".spec.none"}, written{-4, ".spec.ports[port=9]"})
	return map[string]any{"spec": map[string]any{"ports": ports}}, all
}

func mustParse(t *testing.T, text string) fieldpath.Path {
	t.Helper()
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func objectAs(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}
