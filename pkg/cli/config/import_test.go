package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
)

// The converted rules yield the fields that Argo CD ignores, and not the siblings of these fields.
// The lists were written for this test; TestIgnoreListsOfPublicRepositories has lists from public repositories.
func TestImportedRules(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, annotations: {a: b}}\n"
	for name, tt := range map[string]struct {
		ignored, object string
		held            map[string][]string
		want            []string
	}{
		"replicas of Deployments": {
			"[{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}, {group: apps, kind: StatefulSet, name: some, jsonPointers: [/spec/paused]}]",
			deployment + "spec: {replicas: 1, paused: true}",
			map[string][]string{"keda": {".spec.replicas", ".spec.paused"}},
			[]string{".spec.replicas"},
		},
		"two pointers of one object": {
			"[{group: apps, kind: StatefulSet, name: some, jsonPointers: [/spec/replicas, /spec/template/metadata/labels/bar]}]",
			"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: some}\nspec: {replicas: 1, template: {metadata: {labels: {foo: a, bar: b}}}}",
			map[string][]string{"x": {".spec.replicas", ".spec.template.metadata.labels.foo", ".spec.template.metadata.labels.bar"}},
			[]string{".spec.replicas", ".spec.template.metadata.labels.bar"},
		},
		"another object of the kind": {
			"[{group: apps, kind: StatefulSet, name: other, jsonPointers: [/spec/replicas]}]",
			"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: some}\nspec: {replicas: 1}",
			map[string][]string{"x": {".spec.replicas"}},
			nil,
		},
		"secrets of ServiceAccounts": {
			`[{group: "", kind: ServiceAccount, jsonPointers: [/imagePullSecrets, /secrets]}]`,
			"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, labels: {x: y}}\nsecrets: [{name: t}]\nimagePullSecrets: [{name: p}]",
			map[string][]string{"openshift": {`.imagePullSecrets`, ".metadata.labels.x"}},
			[]string{".imagePullSecrets"},
		},
		"sync policy of Applications": {
			"[{group: argoproj.io, kind: Application, jsonPointers: [/spec/syncPolicy/automated, /metadata/finalizers]}]",
			"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, finalizers: [f]}\nspec: {project: p, syncPolicy: {automated: {prune: true, selfHeal: true}}}",
			map[string][]string{"argocd-server": {`.metadata.finalizers[="f"]`, ".spec.syncPolicy.automated.prune", ".spec.project"}},
			[]string{`.metadata.finalizers[="f"]`, ".spec.syncPolicy.automated.prune"},
		},
		"policies of webhooks, by position": {
			"[{group: admissionregistration.k8s.io, kind: ValidatingWebhookConfiguration, jsonPointers: [/webhooks/0/failurePolicy]}]",
			"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: istiod}\nwebhooks: [{name: a, failurePolicy: Ignore, sideEffects: None}, {name: b, failurePolicy: Ignore}]",
			map[string][]string{"pilot-discovery": {`.webhooks[name="a"].failurePolicy`, `.webhooks[name="a"].sideEffects`}},
			[]string{`.webhooks[name="a"].failurePolicy`},
		},
		"a list in a list": {
			"[{group: apps, kind: Deployment, name: istiod, jqPathExpressions: ['.spec.template.spec.containers[].env[].valueFrom.resourceFieldRef.divisor']}]",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod}\nspec: {template: {spec: {containers: [{name: c, env: [{name: e, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: '0'}}}]}]}}}",
			map[string][]string{"x": {`.spec.template.spec.containers[name="c"].env[name="e"].valueFrom.resourceFieldRef.divisor`, `.spec.template.spec.containers[name="c"].env[name="e"].valueFrom.resourceFieldRef.resource`}},
			[]string{`.spec.template.spec.containers[name="c"].env[name="e"].valueFrom.resourceFieldRef.divisor`},
		},
		"an injected container": {
			`[{group: apps, kind: Deployment, jqPathExpressions: ['.spec.template.spec.initContainers[] | select(.name == "injected")']}]`,
			deployment + "spec: {template: {spec: {initContainers: [{name: injected, image: a}, {name: mine, image: b}]}}}",
			map[string][]string{"x": {`.spec.template.spec.initContainers[name="injected"].image`, `.spec.template.spec.initContainers[name="mine"].image`}},
			[]string{`.spec.template.spec.initContainers[name="injected"].image`},
		},
		"all fields of a manager": {
			`[{group: "*", kind: "*", managedFieldsManagers: [kube-controller-manager]}]`,
			deployment + "spec: {replicas: 1, paused: true}",
			map[string][]string{"kube-controller-manager": {".spec.replicas"}, "kubectl": {".spec.paused"}},
			[]string{".spec.replicas"},
		},
		"a Secret's keys with dots": {
			`[{kind: Secret, name: argocd-secret, jsonPointers: [/data/oidc.clientSecret, /data/server.secretkey]}]`,
			"apiVersion: v1\nkind: Secret\nmetadata: {name: argocd-secret}\ndata: {server.secretkey: a, admin.password: b}",
			map[string][]string{"argocd-server": {`.data["server.secretkey"]`, `.data["admin.password"]`}},
			[]string{`.data["server.secretkey"]`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := config.Convert("app.yaml", []byte("kind: Application\nspec: {ignoreDifferences: "+tt.ignored+"}"))
			if err != nil || len(rules.Left) > 0 {
				t.Fatal(err, rules.Left)
			}
			text, err := rules.YAML()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, yieldedBy(t, string(text), tt.object, tt.held)); diff != "" {
				t.Errorf("%s\n%s", diff, text)
			}
		})
	}
}
