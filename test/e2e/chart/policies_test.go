package chart_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

var (
	cronJobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}
	services = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	policies = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
)

// heard collects the warnings of policies.
type heard struct {
	mutex    sync.Mutex
	warnings []string
}

func (h *heard) HandleWarningHeader(_ int, _, text string) {
	if policy, message, ok := strings.Cut(text, "': "); ok && strings.HasPrefix(policy, "Validation failed for ValidatingAdmissionPolicy 'policies-") {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.warnings = append(h.warnings, message)
	}
}

func (h *heard) take() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	all := strings.Join(h.warnings, "\n")
	h.warnings = nil
	return all
}

// policed is a cluster with the chart in mode "policy", and a client with its warnings.
func policed(t *testing.T) (site, *heard) {
	t.Helper()
	s, h := newSite(t), &heard{}
	s.namespace(t, "work")
	s.install(t, "policies", "policies-home", "--set", "mode=policy")
	config, err := s.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.WarningHandler, config.UserAgent = -1, h, "client/1.0"
	if s.Interface, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	s.apply(t, configMaps, configMap("work", "ready", "a: '0'"), "one")
	n := 0
	eventually(t, "both policies are known", func() bool {
		n++
		s.apply(t, configMaps, configMap("work", "ready", fmt.Sprintf("a: '%d'", n)), fmt.Sprint("owner-", n%2))
		taken := h.take()
		dryly(t, s, services, service("ready", "loadBalancerIP: 192.0.2.1, type: LoadBalancer"))
		return taken != "" && h.take() != ""
	})
	return s, h
}

// dryly creates an object in a dry run.
func dryly(t *testing.T, s site, gvr schema.GroupVersionResource, text string) {
	t.Helper()
	o := fieldstest.Read(t, text)
	if _, err := s.in(gvr, o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
}

func (s site) patch(t *testing.T, gvr schema.GroupVersionResource, namespace, name, manager, patch string, subresources ...string) {
	t.Helper()
	_, err := s.in(gvr, namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}, subresources...)
	if err != nil {
		t.Fatal(err)
	}
}

// awaitCached waits until the API server's cache has the object's newest version, if it exists. A
// write starts from the cached version, and the policies warn about that, too, if it is stale.
func (s site) awaitCached(t *testing.T, gvr schema.GroupVersionResource, name string) {
	t.Helper()
	live, err := s.in(gvr, "work").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return
	}
	eventually(t, "the cache has "+name, func() bool {
		cached, err := s.in(gvr, "work").Get(t.Context(), name, metav1.GetOptions{ResourceVersion: "0"})
		return err == nil && version(t, cached) >= version(t, live)
	})
}

func version(t *testing.T, o *unstructured.Unstructured) int {
	t.Helper()
	n, err := strconv.Atoi(o.GetResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Each write, and the warnings that its client gets.
func TestPolicyOfContestedValues(t *testing.T) {
	s, h := policed(t)
	deploy := func(name string, replicas int, image, label string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: work, name: %s, labels: {app: %s, example.com/x: b}}, spec: {replicas: %d,
			selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}, {name: d, image: %s}]}}}}`, name, label, replicas, image)
	}
	cronJob := func(name, image string) string {
		return fmt.Sprintf(`{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: work, name: %s}, spec: {schedule: "0 0 1 1 *", suspend: true,
			jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: %s}]}}}}}}`, name, image)
	}
	s.apply(t, definitions, birdsDefinition, "test")
	birds := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "birds"}
	eventually(t, "birds are served", func() bool {
		_, err := s.in(birds, "work").List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	const user = "; user kubernetes-admin"
	type step = func(t *testing.T, name string)
	maps := func(manager, data string) step {
		return func(t *testing.T, name string) { s.apply(t, configMaps, configMap("work", name, data), manager) }
	}
	deploys := func(manager string, replicas int, image, label string) step {
		return func(t *testing.T, name string) {
			s.apply(t, deployments, deploy(name, replicas, image, label), manager)
		}
	}
	merges := func(gvr schema.GroupVersionResource, manager, patch string, subresources ...string) step {
		return func(t *testing.T, name string) { s.patch(t, gvr, "work", name, manager, patch, subresources...) }
	}
	for name, test := range map[string]struct {
		before []step
		write  step
		want   string // after the object's name; empty for no warning
	}{
		"create":                      {write: maps("one", "a: '1'")},
		"own-change":                  {before: []step{maps("one", "a: '1'")}, write: maps("one", "a: '2'")},
		"own-removal":                 {before: []step{maps("one", "a: '1', b: '2'")}, write: maps("one", "a: '1'")},
		"another-key":                 {before: []step{maps("one", "a: '1'")}, write: merges(configMaps, "two", `{"data":{"b":"2"}}`)},
		"agreement":                   {before: []step{maps("one", "a: '1'")}, write: maps("two", "a: '1'")},
		"update-of-the-same":          {before: []step{maps("one", "a: '1'")}, write: merges(configMaps, "two", `{"data":{"a":"1"}}`)},
		"force":                       {[]step{maps("one", "a: '1'")}, maps("two", "a: '2'"), ".data.a taken from one by two"},
		"update":                      {[]step{maps("one", "a: '1'")}, merges(configMaps, "two", `{"data":{"a":"2"}}`), ".data.a taken from one by two"},
		"update-by-a-client":          {[]step{maps("one", "a: '1'")}, merges(configMaps, "", `{"data":{"a":"2"}}`), ".data.a taken from one by client"},
		"own-removal-by-a-client":     {before: []step{created(s, "")}, write: merges(configMaps, "", `{"data":{"a":null}}`)},
		"removal":                     {[]step{maps("one", "a: '1'")}, merges(configMaps, "two", `{"data":{"a":null}}`), ".data.a taken from one by two"},
		"removal-of-all":              {[]step{maps("one", "a: '1'")}, merges(configMaps, "two", `{"data":null}`), ".data.a taken from one by two"},
		"work":                        {[]step{maps("one", "a: '1'")}, maps("two", "a: '2'"), ".data.a taken from one by two"}, // as for its namespace
		"odd-key":                     {[]step{maps("one", "a.b: '1'")}, maps("two", "a.b: '2'"), `.data["a.b"] taken from one by two`},
		"shared":                      {[]step{maps("one", "a: '1'"), maps("two", "a: '1'")}, maps("three", "a: '2'"), " by three"},
		"shared-by-who-writes":        {[]step{maps("one", "a: '1'"), maps("two", "a: '1'")}, maps("two", "a: '2'"), ".data.a taken from one by two"},
		"shared-and-left":             {before: []step{maps("one", "a: '1'"), maps("two", "a: '1'")}, write: maps("two", "b: '1'")},
		"same-manager-updates":        {before: []step{maps("one", "a: '1'")}, write: merges(configMaps, "one", `{"data":{"a":"2"}}`)},
		"many":                        {[]step{maps("one", "a: '1', b: '1', c: '1', d: '1', e: '1'")}, maps("two", "a: '2', b: '2', c: '2', d: '2', e: '2'"), "+2 more"},
		"replicas":                    {[]step{deploys("flux", 0, "i", "a")}, merges(deployments, "hpa", `{"spec":{"replicas":1}}`), ".spec.replicas taken from flux by hpa"},
		"scaled":                      {before: []step{deploys("flux", 0, "i", "a")}, write: merges(deployments, "kubectl", `{"spec":{"replicas":1}}`, "scale")},
		"scaled-and-back":             {[]step{deploys("flux", 0, "i", "a"), merges(deployments, "kubectl", `{"spec":{"replicas":1}}`, "scale")}, deploys("flux", 0, "i", "a"), ".spec.replicas taken from kubectl (scale) by flux"},
		"image":                       {[]step{deploys("flux", 0, "i", "a")}, deploys("argo", 0, "j", "a"), `.spec.template.spec.containers[name="d"].image taken from flux by argo`},
		"own-image":                   {before: []step{deploys("flux", 0, "i", "a")}, write: deploys("flux", 0, "j", "a")},
		"label":                       {[]step{deploys("flux", 0, "i", "a")}, deploys("argo", 0, "i", "b"), ".metadata.labels.app taken from flux by argo"},
		"label-removed":               {[]step{deploys("flux", 0, "i", "a")}, merges(deployments, "two", `{"metadata":{"labels":{"example.com/x":null}}}`), `.metadata.labels["example.com/x"] taken from flux by two`},
		"not-of-the-list":             {before: []step{deploys("flux", 0, "i", "a")}, write: merges(deployments, "two", `{"spec":{"paused":true}}`)},
		"status":                      {before: []step{deploys("flux", 0, "i", "a")}, write: merges(deployments, "two", `{"status":{"replicas":7}}`, "status")},
		"container-removed":           {[]step{deploys("flux", 0, "i", "a")}, merges(deployments, "two", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}`), `containers[name="d"].image taken from flux by two`},
		"containers-in-another-order": {before: []step{deploys("flux", 0, "j", "a")}, write: merges(deployments, "two", `{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"j"},{"name":"c","image":"i"}]}}}}`)},
		"image-of-a-cron-job": {
			[]step{func(t *testing.T, name string) { s.apply(t, cronJobs, cronJob(name, "i"), "one") }},
			func(t *testing.T, name string) { s.apply(t, cronJobs, cronJob(name, "j"), "two") },
			`.spec.jobTemplate.spec.template.spec.containers[name="c"].image taken from one by two`,
		},
		"managed-fields-cleared": {[]step{maps("one", "a: '1'")}, merges(configMaps, "two", `{"metadata":{"managedFields":[{}]},"data":{"a":"2"}}`), ".data.a taken from one by two"},
		"dry-run": {
			[]step{maps("one", "a: '1'")},
			func(t *testing.T, name string) {
				_, err := s.in(configMaps, "work").Apply(t.Context(), name, fieldstest.Read(t, configMap("work", name, "a: '2'")),
					metav1.ApplyOptions{FieldManager: "two", Force: true, DryRun: []string{metav1.DryRunAll}})
				if err != nil {
					t.Fatal(err)
				}
			},
			".data.a taken from one by two",
		},
		"delete": {before: []step{maps("one", "a: '1'")}, write: func(t *testing.T, name string) {
			if err := s.in(configMaps, "work").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}},
		"exempt": {before: []step{maps("one", "a: '1'"), merges(configMaps, "one", `{"metadata":{"labels":{"k8sconnect.io/exempt":"true"}}}`)}, write: maps("two", "a: '2'")},
		"secret": {before: []step{secret(s, "one", "1")}, write: secret(s, "two", "2")},
		"custom-kind": {
			before: []step{func(t *testing.T, name string) {
				s.apply(t, birds, "{apiVersion: example.com/v1, kind: Bird, metadata: {namespace: work, name: "+name+", labels: {a: b}}, spec: {wings: 2}}", "one")
			}},
			write: merges(birds, "two", `{"metadata":{"labels":{"a":"c"}},"spec":{"wings":3}}`),
		},
		"in-kube-system": {
			before: []step{func(t *testing.T, name string) { taken(s)(t, "kube-system", name) }},
			write:  func(t *testing.T, name string) { again(s)(t, "kube-system", name) },
		},
		"in-the-release": {
			before: []step{func(t *testing.T, name string) { taken(s)(t, "policies-home", name) }},
			write:  func(t *testing.T, name string) { again(s)(t, "policies-home", name) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := "policed-" + name // other tests leave objects in the namespace
			if name == "work" {
				object = name
			}
			for _, step := range test.before {
				step(t, object)
			}
			for _, gvr := range []schema.GroupVersionResource{configMaps, deployments, cronJobs, secrets, birds} {
				s.awaitCached(t, gvr, object)
			}
			h.take()
			test.write(t, object)
			got := h.take()
			if test.want == "" {
				if got != "" {
					t.Errorf("heard %q", got)
				}
				return
			}
			kind := map[bool]string{true: "configmap", false: "deployment.apps"}[strings.Contains(test.want, ".data") || name == "many" || name == "shared"]
			if name == "image-of-a-cron-job" {
				kind = "cronjob.batch"
			}
			if begin := kind + "/" + object + " -n work: "; !strings.HasPrefix(got, begin) || !strings.Contains(got, test.want) || !strings.HasSuffix(got, user) || strings.Contains(got, "\n") {
				t.Errorf("warnings are %q, want %s…%s…%s", got, begin, test.want, user)
			}
		})
	}
	s.apply(t, namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: labelled, labels: {a: '1'}}}", "one")
	s.apply(t, namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: labelled, labels: {a: '2'}}}", "two")
	if diff := cmp.Diff("namespace/labelled: .metadata.labels.a taken from one by two"+user, h.take()); diff != "" {
		t.Error(diff)
	}
}

func created(s site, manager string) func(t *testing.T, name string) {
	return func(t *testing.T, name string) {
		o := fieldstest.Read(t, configMap("work", name, "a: '1'"))
		if _, err := s.in(configMaps, "work").Create(t.Context(), o, metav1.CreateOptions{FieldManager: manager}); err != nil {
			t.Fatal(err)
		}
	}
}

func secret(s site, manager, value string) func(t *testing.T, name string) {
	return func(t *testing.T, name string) {
		s.apply(t, secrets, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {namespace: work, name: %s, labels: {a: %q}}, stringData: {a: %q}}", name, value, value), manager)
	}
}

// The warnings equal the webhook's for the server's release, with the object's name in front.
func TestPolicyOfDeprecations(t *testing.T) {
	s, h := policed(t)
	info, err := s.typed.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	release, err := deprecation.Server(*info)
	if err != nil {
		t.Fatal(err)
	}
	gvk := schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta2", Kind: "DeviceClass"}
	ofClass := ""
	if notice, ok := deprecation.Check(gvk, release); ok {
		ofClass = "deviceclass.resource.k8s.io/class: " + notice.String()
	}
	classes := gvk.GroupVersion().WithResource("deviceclasses")
	class := "{apiVersion: resource.k8s.io/v1beta2, kind: DeviceClass, metadata: {name: class, labels: {a: %q}}}"
	selector := func(name, metadata string) string {
		text := strings.Replace(deployment(name, ""), "containers:", "nodeSelector: {beta.kubernetes.io/os: linux}, containers:", 1)
		return strings.Replace(text, "labels: {}", metadata, 1)
	}
	const ofSelector = `.spec.template.spec.nodeSelector["beta.kubernetes.io/os"] is deprecated since 1.14; use kubernetes.io/os`
	for _, test := range []struct {
		name, text string
		gvr        schema.GroupVersionResource
		want       string
	}{
		{"plain", deployment("plain", ""), deployments, ""},
		{
			"field", service("field", "loadBalancerIP: 192.0.2.1, type: LoadBalancer"), services,
			"service/field -n work: .spec.loadBalancerIP is deprecated since 1.24; use the annotations of the load balancer's provider",
		},
		{"update that changes the field", service("field", "loadBalancerIP: 192.0.2.2, type: LoadBalancer"), services, ""},
		{"field of a Pod template", selector("pods", "labels: {}"), deployments, "deployment.apps/pods -n work: " + ofSelector},
		{"object of a controller", selector("made", "ownerReferences: [{apiVersion: example.com/v1, kind: Bird, name: x, uid: x, controller: true}]"), deployments, ""},
		{"exempt", selector("exempted", `labels: {k8sconnect.io/exempt: "true"}`), deployments, ""},
		{"version", fmt.Sprintf(class, "1"), classes, ofClass},
		{"update with a deprecated version", fmt.Sprintf(class, "2"), classes, ofClass},
	} {
		s.apply(t, test.gvr, test.text, "one")
		if got := h.take(); got != test.want {
			t.Errorf("%s: warnings are %q, want %q", test.name, got, test.want)
		}
	}
}

// No write is refused, whatever its content and cost: policies only warn, and a policy that cannot
// be evaluated is skipped.
func TestPoliciesNeverDeny(t *testing.T) {
	s, h := policed(t)
	huge := func(entries int, entry string) string {
		var b strings.Builder
		for i := range entries {
			fmt.Fprintf(&b, entry, i)
		}
		return b.String()
	}
	pods := func(name, spec string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: work, name: %s}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
			template: {metadata: {labels: {a: b}}, spec: {%s}}}}`, name, spec)
	}
	warned := []string{"managers", "few-keys", "null-labels", "finalized", "large-values", "twelve"}
	for name, test := range map[string]struct {
		gvr     schema.GroupVersionResource
		create  string
		patches []string // one manager each
	}{
		"no-data":       {configMaps, configMap("work", "no-data", ""), []string{`{"data":null}`, `{"data":{}}`, `{"binaryData":{"a":"AA=="}}`, `{"immutable":true}`}},
		"no-owners":     {configMaps, configMap("work", "no-owners", "a: '1'"), []string{`{"metadata":{"managedFields":[{}]}}`, `{"data":{"a":"2"}}`, `{"metadata":{"managedFields":[]},"data":{"a":"3"}}`}},
		"null-labels":   {configMaps, configMap("work", "null-labels", "a: '1'"), []string{`{"metadata":{"labels":null,"annotations":null}}`, `{"metadata":{"labels":{"a":""}}}`, `{"metadata":{"labels":{"a":null}}}`}},
		"many-parents":  {services, `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}, metadata: {namespace: work, name: many-parents, ownerReferences: [` + huge(5_000, "{apiVersion: v1, kind: Node, name: node, uid: u%d}, ") + "]}}", nil},
		"finalized":     {configMaps, configMap("work", "finalized", "a: '1'"), []string{`{"metadata":{"finalizers":["example.com/a"],"ownerReferences":[]}}`, `{"metadata":{"finalizers":null},"data":{"a":"2"}}`}},
		"few-keys":      {configMaps, configMap("work", "few-keys", huge(400, "key-%d: '1', ")), []string{"{\"data\":{" + strings.TrimSuffix(huge(400, `"key-%d":"2",`), ",") + "}}"}},
		"many-keys":     {configMaps, configMap("work", "many-keys", huge(3_000, "key-%d: '1', ")), []string{"{\"data\":{" + strings.TrimSuffix(huge(3_000, `"key-%d":"2",`), ",") + "}}", `{"data":null}`}},
		"large-values":  {configMaps, configMap("work", "large-values", "a: "+strings.Repeat("x", 900_000)), []string{`{"data":{"a":"` + strings.Repeat("y", 900_000) + `"}}`}},
		"managers":      {configMaps, configMap("work", "managers", "a: '0'"), slices.Repeat([]string{`{"data":{"a":"1"}}`, `{"data":{"a":"2"}}`}, 10)},
		"external-name": {services, "{apiVersion: v1, kind: Service, metadata: {namespace: work, name: external-name}, spec: {type: ExternalName, externalName: example.com}}", []string{`{"spec":{"externalName":"example.org"}}`}},
		"containers":    {deployments, pods("containers", "containers: ["+huge(600, "{name: c%d, image: i}, ")+"]"), []string{`{"spec":{"template":{"spec":{"containers":[{"name":"c0","image":"j"}]}}}}`}},
		"same-names":    {deployments, pods("same-names", "containers: [{name: a, image: i}], initContainers: [{name: b, image: i}]"), []string{`{"spec":{"template":{"spec":{"initContainers":null}}}}`}},
		"twelve":        {deployments, pods("twelve", "containers: ["+huge(12, "{name: c%d, image: i}, ")+"]"), []string{`{"spec":{"template":{"spec":{"containers":[{"name":"c0","image":"j"}]}}}}`}},
		"volumes":       {deployments, pods("volumes", "containers: [{name: a, image: i}], volumes: ["+huge(5_000, "{name: v%d, emptyDir: {}}, ")+"{name: a, rbd: {image: a, monitors: [a]}}]"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			h.take()
			o := fieldstest.Read(t, test.create)
			if _, err := s.in(test.gvr, "work").Create(t.Context(), o, metav1.CreateOptions{FieldManager: "one"}); err != nil {
				t.Fatal(err)
			}
			for i, patch := range test.patches {
				s.awaitCached(t, test.gvr, name)
				s.patch(t, test.gvr, "work", name, fmt.Sprint("manager-", i), patch)
			}
			if got := h.take(); slices.Contains(warned, name) != (got != "") {
				t.Errorf("heard %.300q", got)
			}
			if err := s.in(test.gvr, "work").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	conditions := func() float64 {
		return s.counted(t, `apiserver_admission_match_condition_evaluation_errors_total{kind="policy"`)
	}
	validations := func() float64 {
		return s.counted(t, `apiserver_validating_admission_policy_check_total{enforcement_action="allow"`)
	}
	if conditions()+validations() > 0 {
		t.Error("the API server could not evaluate a policy")
	}
	// The same policy with an expression that is too expensive. The bounds prevent that.
	s.apply(t, configMaps, configMap("work", "skipped", "a: '1', b: "+strings.Repeat("x", 100_000)), "one")
	const failing = `[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(i, [0, 1, 2, 3].all(j, oldObject.data.b.matches('^[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*$')))`
	for _, over := range []struct {
		patch string
		count func() float64
	}{
		{`[{"op":"replace","path":"/spec/matchConditions/0/expression","value":"` + failing + `"}]`, conditions},
		{`[{"op":"remove","path":"/spec/matchConditions"},{"op":"replace","path":"/spec/validations/0/expression","value":"` + failing + `"}]`, validations},
		{
			`[{"op":"replace","path":"/spec/validations/0/expression","value":"false"},{"op":"replace","path":"/spec/validations/0/messageExpression","value":"` + failing + ` ? 'a' : 'b'"}]`,
			func() float64 { return float64(strings.Count(h.take(), "a field was taken from its owner")) },
		},
	} {
		if _, err := s.Resource(policies).Patch(t.Context(), "policies-taken", types.JSONPatchType, []byte(over.patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		before, n := over.count(), 0
		eventually(t, "the API server gives up, and the write passes", func() bool {
			n++
			s.patch(t, configMaps, "work", "skipped", fmt.Sprint("manager-", n), fmt.Sprintf(`{"data":{"a":"%d"}}`, n))
			return over.count() > before
		})
	}
}

// counted sums up the API server's metrics whose series begin with a prefix.
func (s site) counted(t *testing.T, series string) (sum float64) {
	t.Helper()
	metrics, err := s.typed.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(metrics)) {
		if strings.HasPrefix(line, series) {
			var n float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// large returns a Deployment with twelve containers, as in charts.
func large(name, images string) string {
	var containers strings.Builder
	for i := range 12 {
		fmt.Fprintf(&containers, `{name: c%d, image: "registry.example/c%d:%s", args: [--a, --b], env: [{name: A, value: a}, {name: B, value: b}, {name: C, value: c}],
			ports: [{containerPort: %d}], resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 64Mi}},
			readinessProbe: {httpGet: {path: /ready, port: %d}}, volumeMounts: [{name: v, mountPath: /v}]}, `, i, i, images, 8000+i, 8000+i)
	}
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: work, name: %s, labels: {app: a, part: b, by: c}},
		spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {volumes: [{name: v, emptyDir: {}}], containers: [%s]}}}}`, name, containers.String())
}

// TestPolicyCost logs the policies' cost for a write, by the API server's own clock.
func TestPolicyCost(t *testing.T) {
	circle.Full(t)
	s, h := policed(t)
	s.apply(t, deployments, large("large", "1"), "flux")
	s.patch(t, deployments, "work", "large", "kubectl", `{"spec":{"replicas":0,"paused":true}}`)
	dry := []string{metav1.DryRunAll}
	apply := func(text, manager string) func() error {
		return func() error {
			_, err := s.in(deployments, "work").Apply(t.Context(), "large", fieldstest.Read(t, text), metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: dry})
			return err
		}
	}
	create := func(text string) func() error {
		return func() error {
			_, err := s.in(deployments, "work").Create(t.Context(), fieldstest.Read(t, text), metav1.CreateOptions{DryRun: dry})
			return err
		}
	}
	evaluating := func(operation string) float64 {
		return s.counted(t, `apiserver_admission_controller_admission_duration_seconds_sum{name="ValidatingAdmissionPolicy",operation="`+operation+`",rejected="false"`)
	}
	// measure returns the cost of a write in milliseconds. It uses the fastest batch, which other
	// load affected least.
	measure := func(name, operation string, do func() error) float64 {
		costs, writes := make([]float64, 40), make([]float64, 40)
		for batch := range costs {
			before := evaluating(operation)
			begin := time.Now()
			for range 5 {
				if err := do(); err != nil {
					t.Fatal(err)
				}
			}
			writes[batch] = time.Since(begin).Seconds() / 5 * 1000
			costs[batch] = (evaluating(operation) - before) / 5 * 1000
		}
		slices.Sort(costs)
		slices.Sort(writes)
		t.Logf("%s: %.2f ms (median %.2f) of a dry run's %.1f ms (median %.1f)", name, costs[0], costs[20], writes[0], writes[20])
		return costs[0]
	}
	writes := []struct {
		name, operation string
		do              func() error
	}{
		{"update without a listed field", "UPDATE", apply(strings.Replace(large("large", "1"), "--b", "--c", 1), "flux")},
		{"update of twelve images by their owner", "UPDATE", apply(large("large", "2"), "flux")},
		{"takeover of twelve images", "UPDATE", apply(large("large", "2"), "argo")},
		{"takeover of one image", "UPDATE", apply(strings.Replace(large("large", "1"), "c7:1", "c7:2", 1), "argo")},
		{"create", "CREATE", create(large("other", "1"))},
		{"create with a deprecated field", "CREATE", create(strings.Replace(large("other", "1"), "volumes:", "nodeSelector: {beta.kubernetes.io/os: linux}, volumes:", 1))},
	}
	costs := make([]float64, len(writes))
	for i, w := range writes {
		costs[i] = measure(w.name, w.operation, w.do)
	}
	// A policy whose condition only reads a name costs the API server's overhead.
	bindings := policies.GroupVersion().WithResource("validatingadmissionpolicybindings")
	if err := s.Resource(bindings).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	s.apply(t, policies, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: policies-plain}, spec: {failurePolicy: Ignore,
		matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE, UPDATE]}]},
		matchConditions: [{name: probe, expression: "object.metadata.name == 'probe'"}], validations: [{expression: "false"}]}}`, "test")
	s.apply(t, bindings, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: policies-plain},
		spec: {policyName: policies-plain, validationActions: [Warn]}}`, "test")
	h.take()
	eventually(t, "only the plain policy is in force", func() bool {
		dryly(t, s, deployments, large("probe", "1"))
		dryly(t, s, services, service("ready", "loadBalancerIP: 192.0.2.1, type: LoadBalancer"))
		return h.take() == "failed expression: false"
	})
	for i, w := range writes {
		own := measure("plain policy: "+w.name, w.operation, w.do)
		t.Logf("%s: the checks cost %.2f ms", w.name, costs[i]-own)
	}
}
