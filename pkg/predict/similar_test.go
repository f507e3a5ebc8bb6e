package predict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// Edge case 42: a field that a controller should set is left only to that controller.
func TestFieldsLeftToControllers(t *testing.T) {
	const (
		role   = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}, aggregationRule: {}, rules: [{verbs: [get]}]}"
		rules  = "{'f:rules': {}}"
		hook   = "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: x}, webhooks: [{name: a, clientConfig: {caBundle: Cg==}}]}"
		bundle = `{'f:webhooks': {'k:{"name":"a"}': {'f:clientConfig': {'f:caBundle': {}}}}}`
	)
	tests := map[string]struct {
		manifest, live, owner, fields string
		take                          string
		want                          []string
	}{
		"rules":                        {role, "rules: [{verbs: [list]}]", "clusterrole-aggregation-controller", rules, "", []string{".rules"}},
		"rules, taken by name":         {role, "rules: [{verbs: [list]}]", "clusterrole-aggregation-controller", rules, ".rules", nil},
		"rules, with take all":         {role, "rules: [{verbs: [list]}]", "clusterrole-aggregation-controller", rules, "all", []string{".rules"}},
		"rules of the same value":      {role, "rules: [{verbs: [get]}]", "clusterrole-aggregation-controller", rules, "", nil},
		"rules set by kubectl edit":    {role, "rules: [{verbs: [list]}]", "kubectl-edit", rules, "", nil},
		"rules that another tool set":  {role, "rules: [{verbs: [list]}]", "flux", rules, "", nil},
		"bundle":                       {hook, "webhooks: [{name: a, clientConfig: {caBundle: CQ==}}]", "cainjector", bundle, "", []string{`.webhooks[name="a"].clientConfig.caBundle`}},
		"bundle set by kubectl patch":  {hook, "webhooks: [{name: a, clientConfig: {caBundle: CQ==}}]", "kubectl-patch", bundle, "", nil},
		"bundle without another owner": {hook, "webhooks: [{name: a, clientConfig: {caBundle: CQ==}}]", "cainjector", "{}", "", nil},
		"rules without aggregation": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}, rules: [{verbs: [get]}]}",
			"rules: [{verbs: [list]}]", "clusterrole-aggregation-controller", rules, "", nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			manifest := objectOf(t, tt.manifest)
			live := objectOf(t, tt.live)
			live.SetGroupVersionKind(manifest.GroupVersionKind())
			entry := "[{manager: " + tt.owner + ", operation: Update, apiVersion: " + manifest.GetAPIVersion() +
				", fieldsType: FieldsV1, fieldsV1: " + tt.fields + "}]"
			var entries []any
			if err := yaml.Unmarshal([]byte(entry), &entries); err != nil {
				t.Fatal(err)
			}
			live.Object["metadata"] = map[string]any{"name": "x", "managedFields": entries}
			p := predict.Predictor{Manager: "k8sconnect"}
			if tt.take != "" {
				choices, err := predict.ParseChoices(tt.take)
				if err != nil {
					t.Fatal(err)
				}
				p.Take = choices
			}
			got, err := p.Evaluate(plan.Item{Ref: object.RefOf(manifest), Object: manifest}, live)
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, c := range got.Left {
				paths = append(paths, c.Path.String())
				if _, declared := c.Path.Get(got.Body.Object); declared {
					t.Errorf("%s is left to others, but is in the request", c.Path)
				}
			}
			if diff := cmp.Diff(tt.want, paths); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}
