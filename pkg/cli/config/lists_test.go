package config_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// A rule can express the fields that public repositories make Argo CD and Flux ignore: it yields
// these fields and not their siblings. Each case is named after a repository and a file in it.
//
// Two findings are missing, because no rule can express them: a regular expression over the keys of
// list items (Kyverno's autogen rules), and an object that is created and never applied again
// (kustomize.toolkit.fluxcd.io/ssa: IfNotPresent), for which there is no field to name.
func TestIgnoreListsOfPublicRepositories(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, annotations: {a: b}}\n"
	for from, tt := range map[string]struct {
		rules, object string
		// held lists, by manager, the fields that other managers own. want lists the fields among
		// them that are yielded.
		held map[string][]string
		want []string
	}{
		"Hulk322/resume-argo, terraform-argocd/main.tf: replicas of Deployments": {
			"[{kind: Deployment.apps, path: .spec.replicas}, {kind: StatefulSet.apps, name: someStatefulSet, path: [.spec.replicas, .spec.template.spec.metadata.labels.bar]}]",
			deployment + "spec: {replicas: 1, paused: true}",
			map[string][]string{"keda": {".spec.replicas", ".spec.paused"}},
			[]string{".spec.replicas"},
		},
		"marfeel-challenge/terraform-install-apps, argocd/application.json.tpl: secrets of ServiceAccounts": {
			"[{kind: ServiceAccount, path: [.imagePullSecrets, .secrets]}]",
			"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, labels: {x: y}}\nsecrets: [{name: t}]\nimagePullSecrets: [{name: p}]",
			map[string][]string{"openshift": {`.imagePullSecrets`, ".metadata.labels.x"}},
			[]string{".imagePullSecrets"},
		},
		"jharmison-redhat/framework-okd, bootstrap/templates/app-of-apps.yaml.tpl: how applications sync": {
			"[{kind: Application.argoproj.io, path: [.spec.syncPolicy.automated, .metadata.finalizers]}]",
			"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, finalizers: [f]}\nspec: {project: p, syncPolicy: {automated: {prune: true, selfHeal: true}}}",
			map[string][]string{"argocd-server": {`.metadata.finalizers[="f"]`, ".spec.syncPolicy.automated.prune", ".spec.project"}},
			[]string{`.metadata.finalizers[="f"]`, ".spec.syncPolicy.automated.prune"},
		},
		"timothywashburn/timothyw-system, scripts/patch-timothyw-system.sh: parameters of a chart": {
			"[{kind: Application.argoproj.io, path: .spec.source.helm.parameters}]",
			"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {path: x, helm: {parameters: [{name: tag, value: a}]}}}",
			map[string][]string{"image-updater": {".spec.source.helm.parameters", ".spec.source.path"}},
			[]string{".spec.source.helm.parameters"},
		},
		"zsmn/k8scd, k8s/applications/application-istio.yaml: a list in a list, of one Deployment": {
			"[{kind: Deployment.apps, name: istiod, path: '.spec.template.spec.containers[*].env[*].valueFrom.resourceFieldRef.divisor'}]",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: istiod}\nspec: {template: {spec: {containers: [{name: c, env: [{name: e, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: '0'}}}]}]}}}",
			map[string][]string{"x": {`.spec.template.spec.containers[name="c"].env[name="e"].valueFrom.resourceFieldRef.divisor`, `.spec.template.spec.containers[name="c"].env[name="e"].valueFrom.resourceFieldRef.resource`}},
			[]string{`.spec.template.spec.containers[name="c"].env[name="e"].valueFrom.resourceFieldRef.divisor`},
		},
		"argoproj/argo-cd, docs/user-guide/diffing.md: an injected container": {
			"[{kind: Deployment.apps, path: '.spec.template.spec.initContainers[name=injected]'}]",
			deployment + "spec: {template: {spec: {initContainers: [{name: injected, image: a}, {name: mine, image: b}]}}}",
			map[string][]string{"x": {`.spec.template.spec.initContainers[name="injected"].image`, `.spec.template.spec.initContainers[name="mine"].image`}},
			[]string{`.spec.template.spec.initContainers[name="injected"].image`},
		},
		"argoproj/argo-cd, docs/user-guide/diffing.md: all of a manager": {
			"[{manager: kube-controller-manager}]",
			deployment + "spec: {replicas: 1, paused: true}",
			map[string][]string{"kube-controller-manager": {".spec.replicas"}, "kubectl": {".spec.paused"}},
			[]string{".spec.replicas"},
		},
		"argoproj-labs/argocd-operator, docs/reference/argocd.md: certificate authorities": {
			"[{kind: MutatingWebhookConfiguration, path: '.webhooks[*].clientConfig.caBundle'}]",
			"apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: x}\nwebhooks: [{name: a, clientConfig: {url: u, caBundle: c}}]",
			map[string][]string{"cainjector": {`.webhooks[name="a"].clientConfig.caBundle`}},
			[]string{`.webhooks[name="a"].clientConfig.caBundle`},
		},
		"fluxcd/helm-controller, docs/spec/v2/helmreleases.md: replicas in drift detection": {
			"[{kind: Deployment, namespace: shop, path: .spec.replicas}]",
			deployment + "spec: {replicas: 1}",
			map[string][]string{"kube-controller-manager": {".spec.replicas"}},
			[]string{".spec.replicas"},
		},
		"fluxcd/flux2-monitoring-example, monitoring/controllers/kube-prometheus-stack/release.yaml: what an operator notes": {
			"[{kind: PrometheusRule, path: '.metadata.annotations[\"prometheus-operator-validated\"]'}]",
			"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a, annotations: {prometheus-operator-validated: 'true', team: x}}\nspec: {groups: []}",
			map[string][]string{"prometheus-operator": {`.metadata.annotations["prometheus-operator-validated"]`, ".metadata.annotations.team"}},
			[]string{".metadata.annotations.prometheus-operator-validated"},
		},
		"devantler-tech/platform, k8s/bases/components/helmrelease-drift-detection/kustomization.yaml: all webhooks": {
			"[{kind: Deployment, path: .spec.replicas}, {kind: StatefulSet, path: .spec.replicas}, {kind: ValidatingWebhookConfiguration, path: .webhooks}, " +
				"{kind: MutatingWebhookConfiguration, path: .webhooks}, {kind: APIService, path: .spec.caBundle}, " +
				"{kind: CustomResourceDefinition, path: .spec.conversion.webhook.clientConfig.caBundle}]",
			"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: x, labels: {a: b}}\nwebhooks: [{name: a, failurePolicy: Fail, clientConfig: {url: u, caBundle: c}}]",
			map[string][]string{"cnpg": {`.webhooks[name="a"].clientConfig.caBundle`, `.webhooks[name="a"].failurePolicy`, ".metadata.labels.a"}},
			[]string{`.webhooks[name="a"].clientConfig.caBundle`, `.webhooks[name="a"].failurePolicy`},
		},
		"Tanguille/cluster, kubernetes/components/nfs-scaler/kustomization.yaml: replicas that are scaled to none": {
			"[{kind: Deployment, path: .spec.replicas}]",
			deployment + "spec: {replicas: 1, paused: true}",
			map[string][]string{"keda": {".spec.replicas"}, "kubectl": {".spec.paused"}},
			[]string{".spec.replicas"},
		},
		"iter8-tools/iter8, autox/application.tpl: all data of one Secret": {
			"[{kind: Secret, name: autox, namespace: shop, path: [.data, .metadata]}]",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: autox, namespace: shop, labels: {x: y}}\ntype: Opaque\ndata: {server.secretkey: a}",
			map[string][]string{"iter8": {`.data["server.secretkey"]`, ".metadata.labels.x", ".type"}},
			[]string{`.data["server.secretkey"]`, ".metadata.labels.x"},
		},
	} {
		t.Run(from, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, yieldedBy(t, "yield: "+tt.rules, tt.object, tt.held)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// yieldedBy returns the sorted fields that a file yields, given an object of which other managers
// own some fields.
func yieldedBy(t *testing.T, file, object string, held map[string][]string) (paths []string) {
	t.Helper()
	settings, err := config.Parse("k8sconnect.yaml", []byte(file), "", false)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	item, live := objectsOf(t, object, held)
	out, err := predict.Predictor{Manager: "k8sconnect", Standing: settings.Rules}.Evaluate(item, live)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range out.Yielded {
		paths = append(paths, path.String())
	}
	slices.Sort(paths)
	return paths
}

// objectsOf returns an object as an item of a plan and as a live object with fields of other
// owners.
func objectsOf(t *testing.T, text string, held map[string][]string) (plan.Item, *unstructured.Unstructured) {
	t.Helper()
	declared := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &declared.Object); err != nil {
		t.Fatal(err)
	}
	live := declared.DeepCopy()
	var entries []any
	for manager, paths := range held {
		set := fieldpath.NewSet()
		for _, text := range paths {
			path, err := fieldpath.ParsePath(text)
			if err != nil {
				t.Fatal(err)
			}
			fieldpath.Insert(set, path)
		}
		tree, err := fieldpath.ToTree(set)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, map[string]any{
			"manager": manager, "operation": "Update", "apiVersion": live.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": tree,
		})
	}
	live.Object["metadata"].(map[string]any)["managedFields"] = entries
	return plan.Item{Ref: object.RefOf(declared), Object: declared, Kind: object.Kind{GVK: declared.GroupVersionKind()}}, live
}
