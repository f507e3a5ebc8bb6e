package diagnose_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// The webhooks and policies that match an object by rules, namespaces, labels and bindings are named, and no
// others.
func TestMutators(t *testing.T) {
	const cluster = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {mesh: "on"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: shop, labels: {app: web, team: a}}
`
	const head = "apiVersion: admissionregistration.k8s.io/v1\nkind: "
	const rules = `[{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]`
	hook := func(rest string) string {
		return head + "MutatingWebhookConfiguration\nmetadata: {name: hook}\nwebhooks: [{name: a.example.com, " + rest + "}]\n"
	}
	policy := func(constraints, binding string) string {
		return head + "MutatingAdmissionPolicy\nmetadata: {name: policy}\nspec: {matchConstraints: {" + constraints + "}}\n---\n" +
			head + "MutatingAdmissionPolicyBinding\nmetadata: {name: binding}\nspec: {" + binding + "}\n"
	}
	tests := map[string]struct {
		text, refused string
		want          []string
		unsure        bool
	}{
		"none":                                        {},
		"a webhook":                                   {text: hook("rules: " + rules), want: []string{"MutatingWebhookConfiguration hook"}},
		"a webhook for everything":                    {text: hook(`rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"]}]`), want: []string{"MutatingWebhookConfiguration hook"}},
		"a webhook of updates only":                   {text: hook(`rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [UPDATE]}]`), want: []string{"MutatingWebhookConfiguration hook"}},
		"a webhook of deletions":                      {text: hook(`rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [DELETE]}]`)},
		"a webhook of another kind":                   {text: hook(`rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE]}]`)},
		"a webhook of the namespace":                  {text: hook("rules: " + rules + ", namespaceSelector: {matchLabels: {mesh: 'on'}}"), want: []string{"MutatingWebhookConfiguration hook"}},
		"a webhook of other namespaces":               {text: hook("rules: " + rules + ", namespaceSelector: {matchLabels: {mesh: 'off'}}")},
		"a webhook of other objects":                  {text: hook("rules: " + rules + ", objectSelector: {matchLabels: {app: db}}")},
		"a webhook of a label that others have added": {text: hook("rules: " + rules + ", objectSelector: {matchLabels: {team: a}}"), want: []string{"MutatingWebhookConfiguration hook"}},
		"a webhook that leaves out a label of others": {text: hook("rules: " + rules + ", objectSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}")},
		"a policy of a label that others have added":  {text: policy("resourceRules: "+rules+", objectSelector: {matchLabels: {team: a}}", "policyName: policy"), want: []string{"MutatingAdmissionPolicy policy"}},
		"a binding of a label that others have added": {text: policy("resourceRules: "+rules, "policyName: policy, matchResources: {objectSelector: {matchLabels: {team: b}}}")},
		"a policy of an older server":                 {text: strings.ReplaceAll(policy("resourceRules: "+rules, "policyName: policy"), "admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"), want: []string{"MutatingAdmissionPolicy policy"}},
		"an object that may not be read":              {text: hook("rules: " + rules + ", objectSelector: {matchLabels: {app: web}}"), refused: "ConfigMap", want: []string{"MutatingWebhookConfiguration hook"}, unsure: true},
		"a webhook that only validates some labels":   {text: head + "ValidatingWebhookConfiguration\nmetadata: {name: hook}\nwebhooks: [{name: a.example.com, objectSelector: {matchLabels: {app: web}}, rules: " + rules + "}]\n", refused: "ConfigMap"},
		"a webhook that only validates":               {text: head + "ValidatingWebhookConfiguration\nmetadata: {name: hook}\nwebhooks: [{name: a.example.com, rules: " + rules + "}]\n"},
		"a policy":                                    {text: policy("resourceRules: "+rules, "policyName: policy"), want: []string{"MutatingAdmissionPolicy policy"}},
		"a policy without a binding":                  {text: policy("resourceRules: "+rules, "policyName: other")},
		"a policy bound to other namespaces":          {text: policy("resourceRules: "+rules, "policyName: policy, matchResources: {namespaceSelector: {matchLabels: {mesh: 'off'}}}")},
		"a policy bound to the namespace":             {text: policy("resourceRules: "+rules, "policyName: policy, matchResources: {namespaceSelector: {matchLabels: {mesh: 'on'}}}"), want: []string{"MutatingAdmissionPolicy policy"}},
		"a policy of other names":                     {text: policy(`resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE], resourceNames: [other]}]`, "policyName: policy")},
		"a policy that excludes the kind":             {text: policy("resourceRules: "+rules+", excludeResourceRules: "+rules, "policyName: policy")},
		"both":                                        {text: policy("resourceRules: "+rules, "policyName: policy") + "---\n" + hook("rules: "+rules), want: []string{"MutatingAdmissionPolicy policy", "MutatingWebhookConfiguration hook"}},
		"policies that may not be read":               {text: hook("rules: " + rules), refused: "MutatingAdmissionPolicy", want: []string{"MutatingWebhookConfiguration hook"}, unsure: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := cluster
			if tt.text != "" {
				text += "---\n" + tt.text
			}
			objects := diagnosetest.Read(t, text)
			memory := &diagnosetest.Memory{Objects: objects}
			if tt.refused != "" {
				memory.Failing = map[string]error{tt.refused: diagnosetest.Forbidden(tt.refused)}
			}
			app := objects[1].DeepCopy()
			app.SetLabels(map[string]string{"app": "web"}) // the manifest
			kind := object.Kind{GVK: app.GroupVersionKind(), Resource: "configmaps", Namespaced: true}
			var got []string
			var sure bool
			facts, g := diagnose.NewFacts(), diagnose.Gatherer{Reader: memory}
			if err := g.Fill(t.Context(), facts, func(r *diagnose.Run) {
				var found []object.Ref
				found, sure = r.Mutators(kind, app)
				got = nil
				for _, ref := range found {
					got = append(got, ref.GVK.Kind+" "+ref.Name)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || sure == tt.unsure {
				t.Errorf("sure: %v; (-want +got):\n%s", sure, diff)
			}
		})
	}
}
