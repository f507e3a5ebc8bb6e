package rewriters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/rewriters"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// Edge case 15: a run names the webhooks that may have rewritten a value, if it may read all of them, and sends
// no request if no value was rewritten.
func TestCandidates(t *testing.T) {
	const hook = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: hook-%d}\n" +
		`webhooks: [{name: a.example.com, rules: [{apiGroups: [%q], apiVersions: [v1], resources: ["*"], operations: [CREATE]}]}]`
	hooks := func(n int, group string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(hook, i, group))
		}
		return strings.Join(all, "\n---\n")
	}
	tests := map[string]struct {
		hooks     string
		quiet     bool
		forbidden string
		want      string
	}{
		"none":                {hooks: hooks(1, "apps"), want: "no mutating webhook or policy matches the object: the API server itself, a plugin in it, or a conversion between versions does it"},
		"one":                 {hooks: hooks(1, ""), want: "probably MutatingWebhookConfiguration hook-0 does it: no other mutating webhook or policy matches the object"},
		"five":                {hooks: hooks(5, ""), want: "one of the mutating webhooks and policies that match the object may do it: MutatingWebhookConfiguration hook-0, MutatingWebhookConfiguration hook-1, MutatingWebhookConfiguration hook-2 and 2 more"},
		"nothing is said":     {hooks: hooks(1, ""), quiet: true},
		"hooks are secret":    {hooks: hooks(1, ""), forbidden: "MutatingWebhookConfiguration"},
		"policies are secret": {hooks: hooks(1, ""), forbidden: "MutatingAdmissionPolicyBinding"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			app := diagnosetest.Read(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: shop}")[0]
			item := plan.Item{Ref: object.RefOf(app), Object: app, Kind: object.Kind{GVK: app.GroupVersionKind(), Resource: "configmaps", Namespaced: true}}
			memory := &diagnosetest.Memory{Objects: diagnosetest.Read(t, tt.hooks)}
			if tt.forbidden != "" {
				memory.Failing = map[string]error{tt.forbidden: diagnosetest.Forbidden(tt.forbidden)}
			}
			var c rewriters.Collector
			how := event.Rewritten
			if tt.quiet {
				how = event.NotRewriting
			}
			c.See(event.Warned{Ref: item.Ref, Text: "x", Rewriting: how})
			got := ""
			c.Report(t.Context(), &plan.Plan{Phases: []plan.Phase{{Items: []plan.Item{item}}}}, memory, func(e event.Event) {
				got = e.(event.Remarked).Text
			})
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if asked := memory.Asked(); tt.quiet && len(asked) > 0 {
				t.Errorf("requests of a quiet run: %q", asked)
			}
		})
	}
}
