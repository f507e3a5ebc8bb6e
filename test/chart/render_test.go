package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// valueSets returns the flags for the defaults and for each set of values in ci, except mode
// "policy", which has no webhook: see TestModePolicy.
func valueSets(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Dir(t), "ci", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no sets of values in ci", err)
	}
	sets := map[string][]string{"default": nil}
	for _, file := range files {
		if filepath.Base(file) == "policy.yaml" {
			continue
		}
		sets[filepath.Base(file)] = []string{"--values", file}
	}
	return sets
}

// renders caches the results of rendered, by flags.
var renders = map[string][]*unstructured.Unstructured{}

// rendered returns the objects that Helm renders with flags. Tests share them, and must not change
// them.
func rendered(t *testing.T, flags ...string) []*unstructured.Unstructured {
	t.Helper()
	key := strings.Join(flags, " ")
	if renders[key] == nil {
		renders[key] = NewHelm(t, "").Render(t, flags...)
	}
	return renders[key]
}

// find returns the first object of a kind as its Go type.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) (T, bool) {
	t.Helper()
	var found T
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if i < 0 {
		return found, false
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(objects[i].Object, &found, true); err != nil {
		t.Fatal(err)
	}
	return found, true
}

// Edge case 78, and the first promise, hold for all values.
func TestAllValuesKeepThePromises(t *testing.T) {
	for name, flags := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			config, ok := find[admissionv1.ValidatingWebhookConfiguration](t, rendered(t, flags...), "ValidatingWebhookConfiguration")
			if !ok && name != "least.yaml" {
				t.Fatal("no webhook configuration")
			}
			for _, w := range config.Webhooks {
				if w.Name == "reach.k8sconnect.io" {
					continue // see TestReachEntryMatchesOnlyConfigMaps
				}
				if *w.FailurePolicy != admissionv1.Ignore || *w.TimeoutSeconds > 2 || *w.SideEffects != admissionv1.SideEffectClassNoneOnDryRun {
					t.Errorf("%s: %s, %d s, %s", w.Name, *w.FailurePolicy, *w.TimeoutSeconds, *w.SideEffects)
				}
				if w.ClientConfig.CABundle != nil {
					t.Errorf("%s: an upgrade would reset the caBundle", w.Name)
				}
				if w.Name == "custom.k8sconnect.io" && (len(w.Rules) > 0 || *w.MatchPolicy != admissionv1.Exact) {
					t.Errorf("%s: an upgrade would reset the rules that the webhook writes, or the match policy is not Exact", w.Name)
				}
				for _, rule := range w.Rules {
					if slices.ContainsFunc(rule.Resources, func(r string) bool { return strings.Contains(r, "/") && r != "*/scale" }) {
						t.Errorf("%s matches subresources: %v", w.Name, rule.Resources)
					}
				}
				left := w.NamespaceSelector.MatchExpressions[0].Values
				for _, namespace := range []string{"kube-system", "kube-node-lease", "home"} {
					if !slices.Contains(left, namespace) {
						t.Errorf("%s: namespace %s is matched", w.Name, namespace)
					}
				}
				if !strings.Contains(w.MatchConditions[0].Expression, `"Lease.coordination.k8s.io"`) {
					t.Errorf("%s: leases are matched", w.Name)
				}
			}
		})
	}
}

// The entry with which the webhook tests its own reachability matches updates of ConfigMaps in the
// release's namespace. Its conditions select a single dry run and, like all entries, it never
// denies. An upgrade keeps the selectors that suspend calls.
func TestReachEntryMatchesOnlyConfigMaps(t *testing.T) {
	for name, flags := range valueSets(t) {
		config, _ := find[admissionv1.ValidatingWebhookConfiguration](t, rendered(t, flags...), "ValidatingWebhookConfiguration")
		found := 0
		for _, w := range config.Webhooks {
			if w.ObjectSelector != nil {
				t.Errorf("%s: an object selector is set, so an upgrade would resume suspended calls", w.Name)
			}
			if w.Name != "reach.k8sconnect.io" {
				continue
			}
			found++
			rule := admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}, Scope: w.Rules[0].Scope}
			if diff := cmp.Diff([]admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Update}, Rule: rule}}, w.Rules); diff != "" {
				t.Error(diff)
			}
			if *w.FailurePolicy != admissionv1.Ignore || *w.TimeoutSeconds > 2 || w.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "home" || len(w.MatchConditions) != 1 {
				t.Errorf("%+v", w)
			}
		}
		if name != "least.yaml" && found != 1 {
			t.Errorf("%s: %d entries", name, found)
		}
	}
}

// AKS adds to the selectors of webhooks without this annotation, and the webhook would undo that
// forever. AKS requires the text "true". cert-manager's annotation is kept.
func TestAdmissionsEnforcerIsDisabled(t *testing.T) {
	for name, flags := range valueSets(t) {
		config, ok := find[admissionv1.ValidatingWebhookConfiguration](t, rendered(t, flags...), "ValidatingWebhookConfiguration")
		if got := config.Annotations["admissions.enforcer/disabled"]; ok && got != "true" {
			t.Errorf("%s: admissions.enforcer/disabled is %q", name, got)
		}
		injected := config.Annotations["cert-manager.io/inject-ca-from"] != ""
		if want := name == "cert-manager.yaml" || name == "everything.yaml"; ok && injected != want {
			t.Errorf("%s: cert-manager injects is %v, want %v", name, injected, want)
		}
	}
}

// By default the webhook sees no Secret but its own.
func TestSecretsAreLeftOut(t *testing.T) {
	objects := rendered(t, "--set", "tracking.customGroups={example.com}")
	for _, o := range objects {
		if o.GetKind() != "ClusterRole" {
			continue
		}
		role, _ := find[rbacv1.ClusterRole](t, []*unstructured.Unstructured{o}, "ClusterRole")
		for _, rule := range role.Rules {
			core := slices.Contains(rule.APIGroups, "") || slices.Contains(rule.APIGroups, "*")
			if core && (slices.Contains(rule.Resources, "*") || slices.Contains(rule.Resources, "secrets")) {
				t.Errorf("Secrets are granted: %v", rule)
			}
		}
	}
	deployment, _ := find[appsv1.Deployment](t, objects, "Deployment")
	if args := deployment.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--exclude-kinds=Secret") {
		t.Errorf("Secrets are tracked: got arguments %q", args)
	}
	config, _ := find[admissionv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration")
	for _, w := range config.Webhooks {
		if w.Name != "reach.k8sconnect.io" && !strings.Contains(w.MatchConditions[0].Expression, `"Secret"`) {
			t.Errorf("webhook %s is called for Secrets", w.Name)
		}
	}
}

// The limit on records is for the cluster: each replica counts the records of the others, and a
// single replica may use all of it.
func TestRecordsPerSecond(t *testing.T) {
	for values, want := range map[string]string{"replicas=2": "10", "replicas=1": "10", "replicas=4,tracking.recordsPerSecond=2": "2"} {
		deployment, _ := find[appsv1.Deployment](t, rendered(t, "--set", values), "Deployment")
		if args := deployment.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--records-per-second="+want) {
			t.Errorf("with %s: %q", values, args)
		}
	}
}

// get would include subresources, such as pods/exec and nodes/proxy.
func TestClusterRoleOmitsGet(t *testing.T) {
	role, _ := find[rbacv1.ClusterRole](t, rendered(t), "ClusterRole")
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "*") && cmp.Diff(rule.Verbs, []string{"list", "watch"}) != "" {
			t.Errorf("got verbs %v for all kinds, want list and watch", rule.Verbs)
		}
	}
}

// Kinds of a group that is missing here would be treated as custom.
func TestBuiltinGroups(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(Dir(t), "files", "builtin-groups.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	if err := yaml.Unmarshal(content, &listed); err != nil {
		t.Fatal(err)
	}
	// Served through libraries that client-go does not contain.
	want := []string{"apiextensions.k8s.io", "apiregistration.k8s.io"}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		want = append(want, gvk.Group)
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), listed); diff != "" {
		t.Error(diff)
	}
}

// Helm installs the contents of crds/ once, and never upgrades them.
func TestDefinitionIsUpgradedAndKept(t *testing.T) {
	if _, err := os.Stat(filepath.Join(Dir(t), "crds")); err == nil {
		t.Error("the chart has a folder crds: its definition belongs to files/ownershiprecords.yaml")
	}
	for _, o := range rendered(t) {
		if o.GetKind() == "CustomResourceDefinition" {
			if o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
				t.Error("uninstalling would delete all records")
			}
			return
		}
	}
	t.Error("no definition of OwnershipRecord")
}

// Users who may view, edit or administer a namespace may read its records.
func TestReaders(t *testing.T) {
	for _, o := range rendered(t) {
		if o.GetKind() != "ClusterRole" || o.GetName() != "release-records" {
			continue
		}
		for _, role := range []string{"view", "edit", "admin"} {
			if o.GetLabels()["rbac.authorization.k8s.io/aggregate-to-"+role] != "true" {
				t.Errorf("the role is not aggregated to %s", role)
			}
		}
		return
	}
	t.Error("no role for readers of records")
}

// OpenShift chooses the user, and refuses a fixed one.
func TestNoFixedUser(t *testing.T) {
	objects := rendered(t, "--set", "podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null,podSecurityContext.fsGroup=null")
	deployment, _ := find[appsv1.Deployment](t, objects, "Deployment")
	is := deployment.Spec.Template.Spec.SecurityContext
	if is == nil || is.RunAsUser != nil || is.RunAsGroup != nil || is.FSGroup != nil || is.RunAsNonRoot == nil || !*is.RunAsNonRoot {
		t.Errorf("%+v", is)
	}
}

// The container's ports are the ports that the program listens on.
func TestPorts(t *testing.T) {
	for values, want := range map[string]map[string]int32{
		"replicas=2": {"port=": 10250, "metrics-address=:": 8080, "health-address=:": 8081},
		"admission.hostNetwork=true,admission.port=11250,metricsPort=11251,healthPort=11252": {"port=": 11250, "metrics-address=:": 11251, "health-address=:": 11252},
	} {
		deployment, _ := find[appsv1.Deployment](t, rendered(t, "--set", values), "Deployment")
		pod := deployment.Spec.Template.Spec
		ports := map[string]int32{}
		for _, p := range pod.Containers[0].Ports {
			ports[map[string]string{"admission": "port=", "metrics": "metrics-address=:", "health": "health-address=:"}[p.Name]] = p.ContainerPort
		}
		if diff := cmp.Diff(want, ports); diff != "" {
			t.Errorf("with %s: %s", values, diff)
		}
		for flag, port := range want {
			if arg := fmt.Sprintf("--%s%d", flag, port); !slices.Contains(pod.Containers[0].Args, arg) {
				t.Errorf("with %s: no %s in %q", values, arg, pod.Containers[0].Args)
			}
		}
		if pod.HostNetwork != strings.Contains(values, "hostNetwork") {
			t.Errorf("with %s: hostNetwork %t", values, pod.HostNetwork)
		}
	}
}

// If all replicas hang, nothing can suspend calls, so writes are slow until the kubelet has killed
// them. docs/webhook.md promises that this takes two and a half minutes at most.
func TestHangingReplicasAreKilled(t *testing.T) {
	deployment, _ := find[appsv1.Deployment](t, rendered(t), "Deployment")
	pod := deployment.Spec.Template.Spec
	probe := pod.Containers[0].LivenessProbe
	if probe == nil || probe.HTTPGet == nil || pod.TerminationGracePeriodSeconds == nil {
		t.Fatalf("the probe %v, the grace period %v", probe, pod.TerminationGracePeriodSeconds)
	}
	if seconds := int64(probe.PeriodSeconds*probe.FailureThreshold) + *pod.TerminationGracePeriodSeconds; seconds > 150 {
		t.Errorf("a hanging replica is killed after %d s, want at most 150", seconds)
	}
}

// Additional arguments come last, so that they take effect.
func TestArguments(t *testing.T) {
	deployment, _ := find[appsv1.Deployment](t, rendered(t, "--set", "logLevel=debug,extraArgs={--log-level=error}"), "Deployment")
	args := deployment.Spec.Template.Spec.Containers[0].Args
	if at := slices.Index(args, "--log-level=debug"); at < 0 || slices.Index(args, "--log-level=error") < at {
		t.Errorf("%q", args)
	}
}

// The user's labels are on every object, and on the pods.
func TestLabels(t *testing.T) {
	for _, o := range rendered(t, "--set", "labels.team=platform,monitoring.serviceMonitor.enabled=true,monitoring.prometheusRule.enabled=true") {
		if o.GetLabels()["team"] != "platform" {
			t.Errorf("the label is missing on %s %s", o.GetKind(), o.GetName())
		}
	}
}

// The webhook sets the paths, which end in a secret. An upgrade would reset a path that the chart
// sets.
func TestChartDoesNotSetPaths(t *testing.T) {
	for name, flags := range valueSets(t) {
		objects := rendered(t, flags...)
		config, _ := find[admissionv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration")
		for _, w := range config.Webhooks {
			if w.ClientConfig.Service == nil || w.ClientConfig.Service.Path != nil || w.ClientConfig.CABundle != nil {
				t.Errorf("%s, %s: %+v", name, w.Name, w.ClientConfig)
			}
		}
		deployment, _ := find[appsv1.Deployment](t, objects, "Deployment")
		container := deployment.Spec.Template.Spec.Containers[0]
		if !slices.ContainsFunc(container.Args, func(arg string) bool { return strings.HasPrefix(arg, "--path-secret=") }) {
			t.Errorf("%s: any client that reaches the port is served: %q", name, container.Args)
		}
	}
}

// admissionFrom restricts only admission: probes come from the kubelets.
func TestAdmissionFromRestrictsOnlyAdmission(t *testing.T) {
	for values, want := range map[string]int{"replicas=2": 0, "networkPolicy.admissionFrom[0].ipBlock.cidr=192.0.2.0/28": 1} {
		policy, _ := find[networkingv1.NetworkPolicy](t, rendered(t, "--set", values), "NetworkPolicy")
		peers := map[string]int{}
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				peers[port.Port.StrVal] = len(rule.From)
			}
		}
		if diff := cmp.Diff(map[string]int{"admission": want, "health": 0, "metrics": 0}, peers); diff != "" {
			t.Errorf("with %s: %s", values, diff)
		}
	}
}

// The clients' CA is mounted at the path that the program gets.
func TestClientCA(t *testing.T) {
	objects := rendered(t, "--set", "admission.clientCA=api-servers,admission.clientNames={a,b}")
	deployment, _ := find[appsv1.Deployment](t, objects, "Deployment")
	pod := deployment.Spec.Template.Spec
	if args := pod.Containers[0].Args; !slices.Contains(args, "--client-ca=/clients/ca.crt") || !slices.Contains(args, "--client-names=a,b") {
		t.Errorf("%q", args)
	}
	mounted := slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "clients" && m.MountPath == "/clients" })
	there := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.Name == "clients" && v.ConfigMap != nil && v.ConfigMap.Name == "api-servers"
	})
	if !mounted || !there {
		t.Errorf("mounted %t, a volume %t", mounted, there)
	}
}

// For all values, mode "policy" renders only two policies, which warn and never deny, and match no
// Secret, no subresource and no custom kind.
func TestModePolicy(t *testing.T) {
	dir := filepath.Join(Dir(t), "ci")
	for _, test := range []struct{ values, server string }{
		{"policy.yaml", "1.37"}, {"policy.yaml", "1.30"}, {"everything.yaml", "1.36.2-eks-1"}, {"cert-manager.yaml", "1.35"},
	} {
		flags := []string{"--values", filepath.Join(dir, test.values), "--set", "mode=policy", "--kube-version", test.server}
		kinds := map[string]int{}
		for _, o := range rendered(t, flags...) {
			kinds[o.GetKind()]++
			one := []*unstructured.Unstructured{o}
			if binding, ok := find[admissionv1.ValidatingAdmissionPolicyBinding](t, one, "ValidatingAdmissionPolicyBinding"); ok {
				if diff := cmp.Diff(admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: o.GetName(), ValidationActions: []admissionv1.ValidationAction{admissionv1.Warn}}, binding.Spec); diff != "" {
					t.Error(diff)
				}
				continue
			}
			policy, _ := find[admissionv1.ValidatingAdmissionPolicy](t, one, "ValidatingAdmissionPolicy")
			spec := policy.Spec
			if *spec.FailurePolicy != admissionv1.Ignore || spec.ParamKind != nil || len(spec.AuditAnnotations) > 0 {
				t.Errorf("%s: %+v", o.GetName(), spec)
			}
			left := spec.MatchConstraints.NamespaceSelector.MatchExpressions[0].Values
			for _, namespace := range []string{"kube-system", "kube-node-lease", "home"} {
				if !slices.Contains(left, namespace) {
					t.Errorf("%s: namespace %s is matched", o.GetName(), namespace)
				}
			}
			for _, rule := range spec.MatchConstraints.ResourceRules {
				group := rule.APIGroups[0]
				builtin := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
				all := slices.Contains(rule.Resources, "*") && group == ""
				if !builtin || all || slices.ContainsFunc(rule.Resources, func(r string) bool { return r == "secrets" || strings.Contains(r, "/") }) {
					t.Errorf("%s matches %v", o.GetName(), rule)
				}
				if test.values == "policy.yaml" && (slices.Contains(rule.Resources, "configmaps") || strings.HasSuffix(o.GetName(), "-taken") && slices.Contains(rule.Resources, "daemonsets")) {
					t.Errorf("%s matches %v, which is left out", o.GetName(), rule)
				}
			}
			if text := fmt.Sprint(spec.Variables); strings.HasSuffix(o.GetName(), "-deprecated") && strings.Contains(text, "since 1.36") != (test.server > "1.36") {
				t.Errorf("for server %s: the notices of Kubernetes 1.36 are rendered: %t", test.server, test.server <= "1.36")
			}
		}
		if diff := cmp.Diff(map[string]int{"ValidatingAdmissionPolicy": 2, "ValidatingAdmissionPolicyBinding": 2}, kinds); diff != "" {
			t.Errorf("%s: %s", test.values, diff)
		}
	}
	if left := rendered(t, "--set", "mode=policy,admission.ownership=false,admission.deprecation=false"); len(left) > 0 {
		t.Errorf("%d objects with neither policy", len(left))
	}
}
