package releases_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// reported is an upgrade that surprised a user: the chart before and after it, and what happened in
// between.
type reported struct {
	thread        string
	before, after string
	between       func(t *testing.T, s *site)
}

const (
	workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  STRATEGY
  selector: {matchLabels: {app: web, version: 'VERSION'}}
  template:
    metadata: {labels: {app: web, version: 'VERSION'}}
    spec: {containers: [{name: web, image: "registry.example/web:1", env: [ENV]}]}
`
	stateful = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: SIZE}}}
`
	scaler = `
apiVersion: autoscaling/VERSION
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 1, maxReplicas: MAX, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`
	cr   = "\n---\napiVersion: forecast.example.com/v1\nkind: Gear\nmetadata: {name: web}\nspec: {size: 1EXTRA}\n"
	note = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {mode: MODE}\n"
	meta = "metadata: {name: web, labels: {mode: MODE}}\n"

	secret = "apiVersion: v1\nkind: Secret\n" + meta + "data: {tls.crt: YQ==, tls.key: YQ==}\n"
	pull   = "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/dockerconfigjson\n" + meta + "stringData: {.dockerconfigjson: '{\"auths\": {\"a\": {}}}'}\n"
	lease  = "apiVersion: coordination.k8s.io/v1\nkind: Lease\n" + meta + "spec: {leaseTransitions: 0}\n"
	mirror = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, labels: {mode: MODE}, annotations: {reflector.v1.k8s.emberstack.com/reflected-version: ''}}\n"

	definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions: [{name: VERSION, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

	unnamed = "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: web-}\n"

	rest = "\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n"
)

func service(kind string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: " + kind + ", selector: {app: web}, ports: [{port: 80}]}\n"
}

func with(text string, pairs ...string) string {
	return strings.NewReplacer(append(pairs, "STRATEGY", "", "VERSION", "1", "ENV", "", "MODE", "a", "EXTRA", "")...).Replace(text)
}

func (s *site) merge(t *testing.T, kind, manager, patch string) {
	t.Helper()
	_, err := s.of(s.kinds[kind]).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
}

func reports() map[string]reported {
	const annotate = `{"metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}}`
	return map[string]reported{
		"an immutable selector": {
			thread: "https://github.com/jetstack/version-checker/issues/140",
			before: with(workload), after: with(workload, "VERSION", "2"),
		},
		"a claim template that grows": {
			thread: "https://github.com/VictoriaMetrics/helm-charts/issues/2851",
			before: with(stateful, "SIZE", "1Gi"), after: with(stateful, "SIZE", "2Gi"),
		},
		"a strategy whose default no manifest sets": {
			thread: "https://github.com/projectsveltos/addon-controller/pull/1876",
			before: with(workload), after: with(workload, "STRATEGY", "strategy: {type: Recreate}"),
		},
		"a variable that is set twice": {
			thread: "https://github.com/helm/helm/issues/31529",
			before: with(workload), after: with(workload, "ENV", "{name: A, value: a}, {name: A, value: b}"),
		},
		"a field that is not in the schema": {
			thread: "https://github.com/vtmocanu/uzi/issues/448",
			before: with(cr), after: with(cr, "EXTRA", ", tls: {enabled: true}"),
		},
		"a new object with a field that is not in the schema": {
			thread: "https://github.com/vtmocanu/uzi/issues/448",
			before: with(note), after: with(note + with(cr, "EXTRA", ", tls: {enabled: true}")),
		},
		"an unknown field of a built-in kind": {
			thread: "https://github.com/helm/helm/issues/32480",
			before: with(workload), after: with(workload, "STRATEGY", "replica: 3"),
		},
		"another apiVersion": {
			thread: "https://github.com/helm/helm/issues/9125",
			before: with(scaler, "VERSION", "v1", "MAX", "3"), after: with(scaler, "VERSION", "v2", "MAX", "4"),
		},
		"another apiVersion, without the marks of Helm 3": {
			thread: "https://github.com/helm/helm/issues/9125",
			before: with(scaler, "VERSION", "v1", "MAX", "3"), after: with(scaler, "VERSION", "v2", "MAX", "4"),
			between: func(t *testing.T, s *site) {
				s.merge(t, "HorizontalPodAutoscaler", "helm", `{"metadata": {"annotations": {"meta.helm.sh/release-name": null}}}`)
			},
		},
		"a definition without its old version": {
			thread: "https://github.com/aws/karpenter-provider-aws/issues/7734",
			before: with(definition, "VERSION", "v1beta1"), after: with(definition, "VERSION", "v1"),
		},
		"an object with generateName": {
			thread: "https://github.com/helm/helm/issues/3348",
			before: with(note) + unnamed, after: with(note, "MODE", "b") + unnamed,
		},
		"an object with generateName that leaves": {
			thread: "https://github.com/helm/helm/issues/3348",
			before: with(note) + unnamed, after: with(note, "MODE", "b"),
		},
		"a certificate that an operator renews": {
			thread: "https://github.com/NVIDIA/aicr/pull/934",
			before: with(secret), after: with(secret, "MODE", "b"),
			between: func(t *testing.T, s *site) {
				s.merge(t, "Secret", "grove-operator", `{"data": {"tls.crt": "Yg==", "tls.key": "Yg=="}}`)
			},
		},
		"the pull secret of an operator, in stringData": {
			thread: "https://github.com/kubermatic/kubermatic/pull/16138",
			before: with(pull), after: with(pull, "MODE", "b"),
			between: func(t *testing.T, s *site) {
				s.merge(t, "Secret", "kubermatic-operator", `{"stringData": {".dockerconfigjson": "{\"auths\": {}}"}}`)
			},
		},
		"the pull secret that another tool applies, in stringData": {
			thread: "https://github.com/kubermatic/kubermatic/pull/16138",
			before: with(pull), after: with(pull, "MODE", "b"),
			between: func(t *testing.T, s *site) {
				s.apply(t, s.kinds["Secret"], "argocd-controller", strings.ReplaceAll(with(pull), `{"a": {}}`, "{}"))
			},
		},
		"an annotation with dots and a slash, by a client without a name": {
			thread: "https://github.com/emberstack/kubernetes-reflector/issues/700",
			before: with(mirror), after: with(mirror, "MODE", "b"),
			between: func(t *testing.T, s *site) {
				s.merge(t, "ConfigMap", "unknown", `{"metadata": {"annotations": {"reflector.v1.k8s.emberstack.com/reflected-version": "7"}}}`)
			},
		},
		"a lease that a Pod holds": {
			thread: "https://github.com/neuvector/neuvector/issues/2724",
			before: with(lease), after: with(lease, "MODE", "b"),
			between: func(t *testing.T, s *site) {
				s.merge(t, "Lease", "upgrader", `{"spec": {"leaseTransitions": 3, "holderIdentity": "pod"}}`)
			},
		},
		"managed fields that a chart copies from the live object": {
			thread: "https://github.com/redpanda-data/redpanda-operator/issues/1648",
			before: with(secret), after: strings.Replace(with(secret, "MODE", "b"), "{name: web,", "{name: web, managedFields: [{manager: helm, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:tls.crt': {}}}}],", 1),
		},
		"a variable of an operator that leaves the chart": {
			thread: "https://github.com/elewa-git/opencrane/pull/147",
			before: with(workload, "ENV", "{name: URL, value: a}"), after: with(workload),
			between: func(t *testing.T, s *site) {
				s.merge(t, "Deployment", "node-fetch", `{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "registry.example/web:1", "env": [{"name": "URL", "value": "b"}]}]}}}}`)
			},
		},
		"a variable that an operator repairs": {
			thread: "https://github.com/elewa-git/opencrane/pull/147",
			before: with(workload, "ENV", "{name: URL, value: a}"), after: with(workload, "ENV", "{name: URL, value: c}"),
			between: func(t *testing.T, s *site) {
				s.merge(t, "Deployment", "node-fetch", `{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "registry.example/web:1", "env": [{"name": "URL", "value": "b"}]}]}}}}`)
			},
		},
		"a load balancer that becomes a cluster IP": {
			thread: "https://github.com/helm/helm/issues/3675",
			before: service("LoadBalancer"), after: service("ClusterIP"),
		},
		"an object that lost the marks of its release": {
			thread: "https://github.com/infobloxopen/konk/pull/637",
			before: with(note), after: with(note, "MODE", "b"),
			between: func(t *testing.T, s *site) {
				s.merge(t, "ConfigMap", "konk-operator", `{"metadata": {"annotations": {"meta.helm.sh/release-name": null, "meta.helm.sh/release-namespace": null}, "labels": {"app.kubernetes.io/managed-by": null}}}`)
			},
		},
		"a namespace that a release has changed": {
			thread: "https://github.com/kubernetes-sigs/cluster-api-addon-provider-helm/issues/197",
			before: with(rest), after: with(note + rest),
			between: func(t *testing.T, s *site) {
				s.apply(t, s.kinds["ConfigMap"], "helm", strings.Replace(with(note)[5:], "{name: web}",
					"{name: web, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: elsewhere}}", 1))
			},
		},
		"an object that another release has taken over": {
			thread: "https://github.com/helm/helm/issues/32218",
			before: with(note + rest), after: rest,
			between: func(t *testing.T, s *site) {
				s.helm.Run(t, "install", "other", folder(t, strings.ReplaceAll(rest, "web", "other")), "-n", s.namespace)
				s.merge(t, "ConfigMap", "helm", annotate)
			},
		},
		"an object that Helm keeps": {
			thread: "https://github.com/helm/helm/issues/9648",
			before: with(note + rest), after: rest,
			between: func(t *testing.T, s *site) {
				s.merge(t, "ConfigMap", "kubectl-annotate", `{"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}}`)
			},
		},
		"an object that is gone and leaves": {
			thread: "https://github.com/helm/helm/issues/12610",
			before: with(note + rest), after: rest,
			between: func(t *testing.T, s *site) {
				if err := s.of(s.kinds["ConfigMap"]).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			},
		},
	}
}

// For each report, the upgrade ends as forecast, both server-side and client-side, with and without
// --server-side=true, and deletes exactly the listed objects.
func TestReportedUpgrades(t *testing.T) {
	setup := newSite(t, "reported")
	setup.apply(t, gvr("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "setup", gearDefinition)
	setup.eventually(t, "gears are served", func() bool {
		_, err := setup.of(gvr("forecast.example.com", "v1", "gears")).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	methods := [][]string{{"--server-side=true"}, {"--server-side=false"}, {"--server-side=false", "--server-side=true"}}
	i := 0
	for name, of := range reports() {
		for _, method := range circle.Of(methods[:2], methods, methods) {
			i++
			namespace := fmt.Sprintf("reported-%d", i)
			t.Run(name+" "+strings.Join(method, ", then "), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, namespace)
				s.kinds["HorizontalPodAutoscaler"] = gvr("autoscaling", "v2", "horizontalpodautoscalers")
				s.kinds["StatefulSet"] = gvr("apps", "v1", "statefulsets")
				s.kinds["Lease"] = gvr("coordination.k8s.io", "v1", "leases")
				s.upgradeAsForecast(t, of, method)
			})
		}
	}
}

func (s *site) upgradeAsForecast(t *testing.T, of reported, method []string) {
	_, err := s.helm.Try(t.Context(), "install", "web", folder(t, strings.ReplaceAll(of.before, "NAMESPACE", s.namespace)), "-n", s.namespace, method[0])
	if err != nil && !strings.Contains(of.before, "generateName") { // A server-side install of it fails.
		t.Fatal(err)
	}
	if of.between != nil {
		of.between(t, s)
	}
	chart := folder(t, strings.ReplaceAll(of.after, "NAMESPACE", s.namespace))
	output := filepath.Join(t.TempDir(), "next.yaml")
	if err := os.WriteFile(output, []byte(s.helm.Run(t, "template", "web", chart, "-n", s.namespace)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, all, text := s.forecasts(t, "web", "--chart-output="+output)
	f := all[0]
	fails := f.Forecast == "fails"
	upgrade := []string{"upgrade", "web", chart, "-n", s.namespace}
	if len(method) > 1 {
		upgrade = append(upgrade, method[1])
		fails = len(flat(f.Conflicts))+len(f.Refusals)+len(f.RefusalsServerSide) > 0
	}
	before := s.live(t)
	_, err = s.helm.Try(t.Context(), upgrade...)
	if f.Forecast == "unknown" || fails != (err != nil) {
		t.Errorf("%s\n%s\nhelm: %v", of.thread, text, err)
	}
	if err != nil {
		s.settled(t, f, text, "--chart-output="+output, upgrade)
		return
	}
	var want, deleted []string
	for _, o := range f.Deletes {
		want = append(want, o.Kind+" "+o.Name)
	}
	after := s.live(t)
	for name := range before {
		if after[name] == nil {
			deleted = append(deleted, name)
		}
	}
	slices.Sort(want)
	slices.Sort(deleted)
	if diff := cmp.Diff(want, deleted); diff != "" {
		t.Errorf("%s: deleted (-forecast +helm):\n%s\n%s", of.thread, diff, text)
	}
	if len(f.Deletes) > 0 && len(f.Foreign) > 0 && (len(f.Next) != 1 || !strings.Contains(f.Next[0], "--to-release=")) {
		t.Errorf("next: %q", f.Next)
	}
}

// settled checks that an upgrade without refusals succeeds after the proposed command.
func (s *site) settled(t *testing.T, f forecast, text, output string, upgrade []string) {
	t.Helper()
	if t.Failed() || len(f.Refusals)+len(f.RefusalsServerSide) > 0 {
		return
	}
	if len(f.Next) != 1 {
		t.Fatalf("next: %q\n%s", f.Next, text)
	}
	words, is := strings.CutPrefix(f.Next[0], "kubectl k8sconnect ")
	if !is {
		t.Fatalf("the proposal is no command: %s", f.Next[0])
	}
	given := slices.DeleteFunc(strings.Fields(words), func(word string) bool { return strings.HasPrefix(word, "--chart-output=") })
	if status, out, message := s.plugin(t, append(given, output)...); status != 0 {
		t.Errorf("%s: exit status %d: %s%s", words, status, out, message)
	}
	if _, err := s.helm.Try(t.Context(), upgrade...); err != nil {
		t.Errorf("after %s: %v", words, err)
	}
}
