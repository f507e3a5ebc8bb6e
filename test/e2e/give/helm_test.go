package give_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

var (
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	webhooks     = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	searches     = schema.GroupVersionResource{Group: "search.example.com", Version: "v1", Resource: "searches"}
)

// failure is a Helm 4 upgrade that failed for a user in 2026, or in the last days of 2025.
type failure struct {
	// reported is the thread, which names the managers and mostly the paths.
	reported string
	// chart is the installed template, and upgraded its next version. NAMESPACE stands for the
	// release's namespace.
	chart, upgraded string
	// between contains the changes of the object in between.
	between func(t *testing.T, s *site, h *chart.Helm)
	// give contains the arguments of the fix.
	give []string
	// of is the object, and wants its values after the upgrade; kept are those among them that
	// others own and the chart does not set.
	kind  schema.GroupVersionResource
	name  string
	wants map[string]any
	// lost is the value of others that an upgrade would overwrite; if it is empty, the upgrade is
	// refused.
	lost string
}

const (
	image      = `.spec.template.spec.containers[name="web"].image`
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:IMAGE"}]}
`
	role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE}
rules: [{apiGroups: [""], resources: [RULES], verbs: [get]}]
`
	settings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {index.html: "INDEX"}
`
	webhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: NAMESPACE, labels: {revision: "REVISION"}}
webhooks:
- name: pods.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {CAservice: {name: web, namespace: NAMESPACE}}
`
	search = `
apiVersion: search.example.com/v1
kind: Search
metadata: {name: search}
spec: {version: "VERSION", nodeSets: [{name: a, count: 1}]}
`
	searchDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: searches.search.example.com}
spec:
  group: search.example.com
  scope: Namespaced
  names: {kind: Search, plural: searches, singular: search}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {nodeSets: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}
`
)

func with(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}

func replicas(n string) func(string) string {
	return func(s string) string { return strings.Replace(s, "spec:\n", "spec:\n  replicas: "+n+"\n", 1) }
}

// scaled scales the Deployment to five as an autoscaler, and annotates it as an operator.
func scaled(t *testing.T, s *site) {
	t.Helper()
	s.update(t, deployments, "web", "kube-controller-manager", `{"spec": {"replicas": 5}}`, "scale")
	s.update(t, deployments, "web", "operator", `{"metadata": {"annotations": {"example.com/checked": "yes"}}}`)
}

var others = map[string]any{".spec.replicas": int64(5), `.metadata.annotations["example.com/checked"]`: "yes"}

func and(values map[string]any, path string, value any) map[string]any {
	out := map[string]any{path: value}
	maps.Copy(out, values)
	return out
}

func failures() map[string]failure {
	v1, v2 := with(deployment, "IMAGE", "1.0"), with(deployment, "IMAGE", "1.1")
	return map[string]failure{
		"an edited image": {
			reported: "https://github.com/microsoft/Docker-Provider/pull/1667",
			chart:    v1, upgraded: v2, kind: deployments, name: "web", wants: and(others, image, "registry.example/web:1.1"),
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				scaled(t, s)
				s.update(t, deployments, "web", "kubectl-edit", `{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "registry.example/web:1.0-fix"}]}}}}`)
			},
			give: []string{"deploy/web", ".spec.template.spec.containers", "--from=kubectl-edit", "--to=helm"},
		},
		"a rule that was patched": {
			reported: "https://github.com/Azure/kars/pull/224",
			chart:    with(role, "RULES", "pods"), upgraded: with(role, "RULES", "secrets"), kind: clusterRoles, wants: map[string]any{".metadata.labels.human": "kept"},
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				s.update(t, clusterRoles, s.namespace, "kubectl-label", `{"metadata": {"labels": {"human": "kept"}}}`)
				s.update(t, clusterRoles, s.namespace, "kubectl-patch", `{"rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]}`)
			},
			give: []string{"clusterrole/NAMESPACE", ".rules", "--from=kubectl-patch", "--to=helm"},
		},
		"kubectl apply during a debugging session": {
			reported: "https://github.com/noctaya/noctaya/pull/31",
			chart:    with(settings, "INDEX", "1"), upgraded: with(settings, "INDEX", "2"), kind: configMaps, name: "settings",
			wants: map[string]any{`.data["index.html"]`: "2", ".data.human": "kept"},
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				s.kubectl(t, with(settings, "INDEX", "debug", `{index`, `{human: kept, index`), "apply", "-f", "-")
			},
			give: []string{"--helm-release=NAMESPACE/web", "--from=kubectl-client-side-apply"},
		},
		"kubectl scale": {
			reported: "https://github.com/k3s-io/helm-controller/issues/343",
			chart:    replicas("1")(v1), upgraded: replicas("3")(v2), kind: deployments, name: "web", wants: map[string]any{".spec.replicas": int64(3)},
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				s.kubectl(t, "", "scale", "deploy/web", "--replicas=2")
			},
			give: []string{"deploy/web", ".spec.replicas", "--from=kubectl", "--to=helm"},
		},
		"an autoscaler's replicas, which Helm took by force": {
			reported: "https://github.com/NatLabRockies/openstudio-server-helm/issues/110",
			chart:    replicas("1")(v1), upgraded: v2, kind: deployments, name: "web", wants: and(others, image, "registry.example/web:1.1"),
			between: func(t *testing.T, s *site, h *chart.Helm) {
				scaled(t, s)
				s.update(t, deployments, "web", "kube-controller-manager", `{"spec": {"replicas": 4}}`, "scale")
				h.Run(t, "upgrade", "web", folder(t, s, replicas("5")(v1)), "-n", s.namespace, "--force-conflicts")
			},
			give: []string{"deploy/web", ".spec.replicas", "--from=helm", "--to=kube-controller-manager", "--as-operation=update"},
			lost: ".spec.replicas",
		},
		"managed fields that were cleared": {
			reported: "https://github.com/OpenHands/OpenHands-Cloud/pull/648",
			chart:    v1, upgraded: v2, kind: deployments, name: "web", wants: and(others, image, "registry.example/web:1.1"),
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				scaled(t, s)
				s.update(t, deployments, "web", "kubectl-patch", `{"metadata": {"managedFields": [{}]}}`)
			},
			give: []string{"--helm-release=NAMESPACE/web", "--from=before-first-apply"},
		},
		"a list that an operator completed": {
			reported: "https://github.com/elastic/cloud-on-k8s/issues/8975",
			chart:    with(search, "VERSION", "1"), upgraded: with(search, "VERSION", "2"), kind: searches, name: "search",
			wants: map[string]any{".spec.version": "2", ".spec.auth": "kept"},
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				s.update(t, searches, "search", "elastic-operator", `{"spec": {"auth": "kept", "nodeSets": [{"name": "a", "count": 1, "podTemplate": {}}]}}`)
			},
			give: []string{"search/search", ".spec.nodeSets", "--from=elastic-operator", "--to=helm"},
		},
		"a CA bundle given to its injector": {
			reported: "https://github.com/jordigilh/kubernaut/issues/332",
			chart:    with(webhook, "CA", "caBundle: "+bundle+", ", "REVISION", "1"), upgraded: with(webhook, "CA", "", "REVISION", "2"), kind: webhooks,
			wants: map[string]any{`.webhooks[name="pods.example.com"].clientConfig.caBundle`: bundle, ".metadata.labels.revision": "2"},
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				s.update(t, webhooks, s.namespace, "cert-manager-cainjector", `{"metadata": {"annotations": {"cert-manager.io/inject-ca-from": "web/web"}}}`)
			},
			give: []string{"mutatingwebhookconfiguration/NAMESPACE", `.webhooks[name="pods.example.com"].clientConfig.caBundle`, "--from=helm", "--to=cert-manager-cainjector"},
			lost: `.webhooks[name="pods.example.com"].clientConfig.caBundle`,
		},
		"a page that was patched for maintenance, and patched back": {
			reported: "https://github.com/pawtograder/platform/pull/878",
			chart:    with(settings, "INDEX", "1"), upgraded: with(settings, "INDEX", "2"), kind: configMaps, name: "settings",
			wants: map[string]any{`.data["index.html"]`: "2", ".data.human": "kept"},
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				s.update(t, configMaps, "settings", "kubectl-edit", `{"data": {"human": "kept"}}`)
				s.update(t, configMaps, "settings", "kubectl-patch", `{"data": {"index.html": "closed"}}`)
				s.update(t, configMaps, "settings", "kubectl-patch", `{"data": {"index.html": "1"}}`)
			},
			give: []string{"cm/settings", `.data["index.html"]`, "--from=kubectl-patch", "--to=helm"},
		},
		"Helm's own past": {
			reported: "https://github.com/giantswarm/agentlab/issues/112",
			chart:    with(settings, "INDEX", "1"), upgraded: with(settings, "INDEX", "2"), kind: configMaps, name: "settings",
			wants: map[string]any{`.data["index.html"]`: "2", ".data.human": "kept"},
			between: func(t *testing.T, s *site, _ *chart.Helm) {
				s.update(t, configMaps, "settings", "kubectl-edit", `{"data": {"human": "kept"}}`)
				s.update(t, configMaps, "settings", "helm", `{"data": {"index.html": "3"}}`)
			},
			give: []string{"--helm-release=NAMESPACE/web", "--from=helm"},
		},
	}
}

const bundle = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"

// Ten upgrades that failed, or overwrote others' values, also do so here with the real Helm 4.
// After the fields are given away, they succeed without --force-conflicts, and keep the others'
// values.
func TestHelm(t *testing.T) {
	definitions := newSite(t, "definitions")
	definitions.apply(t, "setup", searchDefinition)
	definitions.kubectl(t, "", "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/searches.search.example.com")
	h := chart.NewHelm(t, definitions.KubeconfigPath)
	number := 0
	for name, f := range failures() {
		number++
		t.Run(name, func(t *testing.T) {
			switch name {
			case "an edited image", "an autoscaler's replicas, which Helm took by force", "a list that an operator completed", "Helm's own past":
			default:
				circle.Full(t)
			}
			broken, mended := newSite(t, fmt.Sprintf("broken-%d", number)), newSite(t, fmt.Sprintf("mended-%d", number))
			for _, s := range []*site{broken, mended} {
				h.Run(t, "install", "web", folder(t, s, f.chart), "-n", s.namespace)
				f.between(t, s, h)
			}
			_, err := h.Try(t.Context(), "upgrade", "web", folder(t, broken, f.upgraded), "-n", broken.namespace)
			switch got, there := f.value(t, broken, f.lost); {
			case f.lost == "" && (err == nil || !strings.Contains(err.Error(), "conflict")):
				t.Errorf("the upgrade without give has no conflict: %v", err)
			case f.lost != "" && err != nil:
				t.Error(err)
			case f.lost != "" && there && got == f.wants[f.lost]:
				t.Errorf("the upgrade without give did not overwrite %s: it is %v", f.lost, got)
			}

			before := f.object(t, mended)
			var args []string
			for _, arg := range f.give {
				args = append(args, strings.ReplaceAll(arg, "NAMESPACE", mended.namespace))
			}
			if status, _ := mended.give(t, args...); status != 0 {
				t.Fatalf("give: exit status %d, want 0", status)
			}
			after := f.object(t, mended)
			if content(t, before) != content(t, after) {
				t.Errorf("give changes more than owners:\n%s\n%s", content(t, before), content(t, after))
			}
			if _, err := h.Try(t.Context(), "upgrade", "web", folder(t, mended, f.upgraded), "-n", mended.namespace); err != nil {
				t.Error(err)
			}
			for path, want := range f.wants {
				if got, _ := f.value(t, mended, path); got != want {
					t.Errorf("%s is %v, want %v", path, got, want)
				}
			}
		})
	}
}

// object reads the object that the failure is about.
func (f failure) object(t *testing.T, s *site) *unstructured.Unstructured {
	t.Helper()
	name := f.name
	if name == "" {
		name = s.namespace
	}
	return s.get(t, f.kind, name)
}

func (f failure) value(t *testing.T, s *site, path string) (any, bool) {
	t.Helper()
	if path == "" {
		return nil, false
	}
	p, err := fieldpath.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	return p.Get(f.object(t, s).Object)
}

// folder creates a chart of one template.
func folder(t *testing.T, s *site, template string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":         "{apiVersion: v2, name: web, version: 0.1.0}",
		"templates/all.yaml": strings.ReplaceAll(template, "NAMESPACE", s.namespace),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
