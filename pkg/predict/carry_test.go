package predict

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// An apply keeps a label that we own even if the manifest lacks it. It does not send a label that
// others own.
func TestCarry(t *testing.T) {
	const label = "example.com/of"
	for name, tt := range map[string]struct {
		manager, operation   string // who has the label
		from                 adopt.From
		carry                string
		live, declared, want any // labels
	}{
		"ours":                  {manager: "k8sconnect", operation: "Apply", carry: label, live: map[string]any{label: "x"}, want: map[string]any{label: "x"}},
		"beside another":        {manager: "k8sconnect", operation: "Apply", carry: label, live: map[string]any{label: "x"}, declared: map[string]any{"a": "b"}, want: map[string]any{label: "x", "a": "b"}},
		"another value stated":  {manager: "k8sconnect", operation: "Apply", carry: label, live: map[string]any{label: "x"}, declared: map[string]any{label: "y"}, want: map[string]any{label: "y"}},
		"nothing carried":       {manager: "k8sconnect", operation: "Apply", live: map[string]any{label: "x"}},
		"no label":              {manager: "k8sconnect", operation: "Apply", carry: label},
		"of another owner":      {manager: "flux", operation: "Apply", carry: label, live: map[string]any{label: "x"}},
		"by our update":         {manager: "k8sconnect", operation: "Update", carry: label, live: map[string]any{label: "x"}},
		"of an adopted manager": {manager: "helm", operation: "Apply", from: adopt.From{Always: []string{"helm"}}, carry: label, live: map[string]any{label: "x"}, want: map[string]any{label: "x"}},
	} {
		metadata := func(labels any) map[string]any {
			m := map[string]any{"name": "a", "namespace": "n"}
			if labels != nil {
				m["labels"] = labels
			}
			return m
		}
		live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(tt.live)}}
		_ = unstructured.SetNestedSlice(live.Object, []any{map[string]any{
			"manager": tt.manager, "operation": tt.operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:" + label: map[string]any{}}}},
		}}, "metadata", "managedFields")
		declared := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(tt.declared)}}
		gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
		item := plan.Item{Object: declared, Ref: object.RefOf(declared), Kind: object.Kind{GVK: gvk, Resource: "configmaps", Namespaced: true}}
		out, err := Predictor{Manager: "k8sconnect", Carry: tt.carry, AdoptFrom: tt.from}.Evaluate(item, live)
		if err != nil {
			t.Fatal(err)
		}
		got, want := fmt.Sprint(out.Body.Object["metadata"]), fmt.Sprint(metadata(tt.want))
		if tt.want == nil {
			want = fmt.Sprint(metadata(tt.declared))
		}
		if got != want {
			t.Errorf("%s: %s is sent, want %s", name, got, want)
		}
		// The label is also in the manifest if the object was deleted and must be created again.
		again, err := Predictor{Manager: "k8sconnect", Carry: tt.carry}.Evaluate(out.Item, nil)
		if err != nil || strings.Contains(want, label) != strings.Contains(fmt.Sprint(again.Body.Object), label) {
			t.Errorf("%s: created anew as %s (%v)", name, fmt.Sprint(again.Body.Object), err)
		}
	}
}
