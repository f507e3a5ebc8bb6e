package fights_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// Loops of each class are found with their writers, among a healthy cluster's writes: a rollout, an
// autoscaler, a GitOps tool that agrees, a certificate, leader elections.
func TestLoops(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Nodes: circle.Of(0, 1, 1), AuditLog: "audit.log"})
	s := newSite(t, c, "loops")
	length := circle.Of(9*time.Second, 30*time.Second, time.Minute)
	rates := circle.Of([]float64{30}, []float64{10, 60, 1200}, []float64{2, 31, 84, 600, 3000})
	want := s.seed(t, rates)
	s.healthy(t)
	r := s.fights(t, 1, "-A", "--for="+length.String())
	s.stop()
	log := s.logged(t)
	found := log.judge(t, r)
	for name := range want {
		if !found[name] {
			t.Errorf("the loop %s was not found", name)
		}
	}
	for name := range found {
		if !want[name] {
			t.Errorf("%s was found, but was not seeded", name)
		}
	}
	if len(r.Unread)+r.Unclear > 0 {
		t.Errorf("not watched: %v, not read: %d", r.Unread, r.Unclear)
	}
	t.Logf("%d loops of %v writes a minute in %s, %d objects", len(want), rates, length, r.Objects)
}

// A healthy cluster has no fights.
func TestHealthy(t *testing.T) {
	circle.Full(t)
	c := cluster.ForTest(t, cluster.Options{Nodes: 1, AuditLog: "audit.log"})
	s := newSite(t, c, "healthy")
	s.healthy(t)
	for range circle.Of(1, 1, 30) {
		s.fights(t, 0, "-A", "--for=60s")
	}
	s.stop()
}

// The printed command ends a fight: its receiver then owns the path.
func TestGive(t *testing.T) {
	c := shared.Cluster(t)
	s := newSite(t, c, "give")
	s.deployment(t, "web", 5, "argo-applies")
	s.every(300, func(int) { s.merge("deployments", "web", `{"spec":{"replicas":3}}`, "keda-operator") }, func(int) { s.apply("web", 5, "argo-applies") })
	r := s.fights(t, 1, "deployments", "-n", s.ns, "--for=3s")
	s.stop()
	if len(r.Fights) != 1 || len(r.Fights[0].Next) != 1 {
		t.Fatalf("%+v", r.Fights)
	}
	words := strings.Fields(r.Fights[0].Next[0])[1:]
	at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--kubeconfig=") })
	words[at] = "--kubeconfig=" + c.KubeconfigPath
	s.apply("web", 5, "argo-applies")
	if status, out := run(t, append([]string{"kubectl-k8sconnect"}, words[1:]...)...); status != 0 {
		t.Fatalf("%q: %s", words, out)
	}
	live, err := s.resource("deployments").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range live.GetManagedFields() {
		if owns := strings.Contains(string(e.FieldsV1.GetRawBytes()), `"f:replicas"`); owns != (e.Manager == "keda-operator") && e.Subresource == "" {
			t.Errorf("%s: %s", e.Manager, e.FieldsV1.GetRawBytes())
		}
	}
}

// A kind that the user may not watch, and an API that does not respond, are reported, and the
// result is unknown.
func TestUnreadableKinds(t *testing.T) {
	c := shared.Cluster(t)
	kubeconfig, err := c.KubeconfigFor("visitor")
	if err != nil {
		t.Fatal(err)
	}
	status, out := run(t, "kubectl-k8sconnect", "fights", "configmaps", "-n", "default", "--for=1s", "--kubeconfig", kubeconfig)
	if status != 2 || !strings.Contains(out, "could not be read: configmap") {
		t.Errorf("exit status %d\n%s", status, out)
	}
	broken := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.broken.example.com"},
		"spec": map[string]any{
			"group": "broken.example.com", "version": "v1", "groupPriorityMinimum": int64(1), "versionPriority": int64(1), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": "default", "name": "none"},
		},
	}}
	s := newSite(t, c, "unread")
	services := s.client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	if _, err := services.Create(t.Context(), broken, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = services.Delete(context.Background(), broken.GetName(), metav1.DeleteOptions{}) })
	if !cluster.Until(time.Minute, func() bool {
		status, out = run(t, "kubectl-k8sconnect", "fights", "-A", "--for=1s", "--kubeconfig", c.KubeconfigPath, "--cache-dir", t.TempDir())
		return status == 2 && strings.Contains(out, "broken.example.com")
	}) {
		t.Errorf("exit status %d\n%s", status, out)
	}
}

// Writes that change nothing are found only from the API server's counters. If they cannot be
// counted, the result is unknown: the user may not read them, the page holds no known counter, or
// another API server process answers at the end.
func TestWritesThatCannotBeCounted(t *testing.T) {
	c := shared.Cluster(t)
	kubeconfig, err := c.KubeconfigFor("reader", "readers")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, c, "uncounted")
	role := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "all-readers"},
		"rules": []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"get", "list", "watch"}}},
	}}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "all-readers"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "all-readers"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}},
	}}
	for resource, object := range map[string]*unstructured.Unstructured{"clusterroles": role, "clusterrolebindings": binding} {
		all := s.client.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource})
		if _, err := all.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = all.Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}) })
	}
	page := func(process string) string {
		return `apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="PUT",version="v1"} 3` +
			"\nprocess_start_time_seconds " + process + "\n"
	}
	for name, test := range map[string]struct {
		kubeconfig string
		pages      []string // one for each read of /metrics; nil: the server's own
		why        string
	}{
		"the counters are the server's":  {c.KubeconfigPath, nil, ""},
		"they may not be read":           {kubeconfig, nil, "get on the URL /metrics"},
		"the page is empty":              {c.KubeconfigPath, []string{"x 1\n"}, "no counter of writes"},
		"the counter has other labels":   {c.KubeconfigPath, []string{"apiserver_request_total{zone=\"a\"} 3\nprocess_start_time_seconds 1\n"}, "no counter of writes"},
		"another process answers":        {c.KubeconfigPath, []string{page("1"), page("2")}, "another API server answered"},
		"the page is gone at the end":    {c.KubeconfigPath, []string{page("1"), "x 1\n"}, "no counter of writes"},
		"the same process answers twice": {c.KubeconfigPath, []string{page("1"), page("1")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := test.kubeconfig
			if test.pages != nil {
				p, err := c.HTTPProxy()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(p.Close)
				for _, page := range test.pages {
					p.Fail(1, proxy.Path("GET", "/metrics"), proxy.Fault{Status: 200, Body: page})
				}
				if kubeconfig, err = c.Kubeconfig(p.URL()); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"kubectl-k8sconnect", "fights", "-A", "--for=1s", "--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()}
			status, out := run(t, args...)
			if test.why == "" {
				if status == 2 || strings.Contains(out, "counted") {
					t.Errorf("exit status %d\n%s", status, out)
				}
				return
			}
			if status != 2 || !strings.Contains(out, test.why) || strings.Contains(out, "no fights;") {
				t.Errorf("exit status %d, no %q in\n%s", status, test.why, out)
			}
		})
	}
}

func run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	status := cli.Main(t.Context(), args, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
	return status, out.String()
}

// site is a namespace with writers, which the audit log records.
type site struct {
	c      *cluster.Cluster
	ns     string
	client dynamic.Interface
	ctx    context.Context
	cancel context.CancelFunc
	loops  sync.WaitGroup
}

func newSite(t *testing.T, c *cluster.Cluster, ns string) *site {
	t.Helper()
	if err := c.CreateNamespace(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.KubeconfigFor("writer", "system:masters", cluster.AuditedBodies)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	s := &site{c: c, ns: ns}
	if s.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	t.Cleanup(s.stop)
	return s
}

func (s *site) stop() {
	s.cancel()
	s.loops.Wait()
}

func (s *site) fights(t *testing.T, want int, args ...string) (r report) {
	t.Helper()
	var out, errOut bytes.Buffer
	args = append([]string{"kubectl-k8sconnect", "fights", "-o", "json", "--kubeconfig", s.c.KubeconfigPath}, args...)
	status := cli.Main(t.Context(), args, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut})
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || status != want {
		t.Fatalf("%v, exit status %d, want %d\n%s%s", err, status, want, &out, &errOut)
	}
	if strings.Contains(out.String(), secret) {
		t.Errorf("a value of a Secret is shown:\n%s", &out)
	}
	return r
}

func (s *site) logged(t *testing.T) logged {
	t.Helper()
	time.Sleep(time.Second) // the log may lag behind
	events, err := s.c.AuditEvents()
	if err != nil {
		t.Fatal(err)
	}
	return read(t, events)
}

// every runs writes in turn, so many times a minute, from a random moment on.
func (s *site) every(rate float64, writes ...func(i int)) {
	for i, write := range writes { // each state exists before
		write(i)
	}
	s.loops.Go(func() {
		pause := time.Duration(float64(time.Minute) / rate)
		next := time.Now().Add(time.Duration(rand.Int64N(int64(pause))))
		for i := 0; ; i++ {
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(time.Until(next)):
			}
			writes[i%len(writes)](i)
			next = next.Add(pause)
		}
	})
}

func (s *site) resource(name string) dynamic.ResourceInterface {
	groups := map[string]schema.GroupVersionResource{"deployments": {Group: "apps", Version: "v1", Resource: name}, "statefulsets": {Group: "apps", Version: "v1", Resource: name}}
	gvr, has := groups[name]
	if !has {
		gvr = schema.GroupVersionResource{Version: "v1", Resource: name}
	}
	return s.client.Resource(gvr).Namespace(s.ns)
}

// merge and the other writes ignore errors, because the last ones are cancelled.
func (s *site) merge(resource, name, patch, manager string, subresources ...string) {
	_, _ = s.resource(resource).Patch(s.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}, subresources...)
}

func workload(kind, name string, replicas int64, image string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	spec := map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"containers": []any{map[string]any{"name": "c", "image": "registry.example/" + image}},
		}},
	}
	if kind == "StatefulSet" {
		spec["serviceName"] = name
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}}
}

func (s *site) apply(name string, replicas int64, manager string) {
	_, _ = s.resource("deployments").Apply(s.ctx, name, workload("Deployment", name, replicas, "c:1"), metav1.ApplyOptions{FieldManager: manager, Force: true})
}

func (s *site) deployment(t *testing.T, name string, replicas int64, manager string) {
	t.Helper()
	if _, err := s.resource("deployments").Apply(t.Context(), name, workload("Deployment", name, replicas, "c:1"), metav1.ApplyOptions{FieldManager: manager, Force: true}); err != nil {
		t.Fatal(err)
	}
}

// plain creates a ConfigMap or a Secret.
func (s *site) plain(t *testing.T, resource, kind, name string) {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "labels": map[string]any{"a": "1"}}}}
	if _, err := s.resource(resource).Create(t.Context(), u, metav1.CreateOptions{FieldManager: "creator"}); err != nil {
		t.Fatal(err)
	}
}

// secret is the prefix of Secret values, in base64.
const secret = "c2VjcmV0"

// seed starts loops of each class and rate, and returns their objects.
func (s *site) seed(t *testing.T, rates []float64) map[string]bool {
	t.Helper()
	want := map[string]bool{}
	for i, rate := range rates {
		name := func(sort string) string { return fmt.Sprintf("%s-%v", sort, rate) }
		turns := func(resource, kind, sort string, patches ...[2]string) {
			n := name(sort)
			s.plain(t, resource, kind, n)
			var writes []func(int)
			for _, p := range patches {
				writes = append(writes, func(int) { s.merge(resource, n, p[1], p[0]) })
			}
			s.every(rate, writes...)
			want[kind+"/"+n] = true
		}
		turns("configmaps", "ConfigMap", "two", [2]string{"one", `{"data":{"v":"1"}}`}, [2]string{"two", `{"data":{"v":"2"}}`})
		turns("configmaps", "ConfigMap", "alone", [2]string{"one", `{"data":{"v":"1"}}`}, [2]string{"one", `{"data":{"v":"2"}}`})
		if i > 3 { // more such loops would overload a small machine
			continue
		}
		turns("configmaps", "ConfigMap", "label", [2]string{"one", `{"metadata":{"labels":{"v":"1"}}}`}, [2]string{"two", `{"metadata":{"labels":{"v":"2"}}}`})
		turns("secrets", "Secret", "secret", [2]string{"one", `{"data":{"v":"` + secret + `MQ=="}}`}, [2]string{"two", `{"data":{"v":"` + secret + `Mg=="}}`})
		if rate > 2 { // a path that is set and removed has to be set once more
			turns("configmaps", "ConfigMap", "removed", [2]string{"one", `{"data":{"v":"1"}}`}, [2]string{"two", `{"data":{"v":null}}`})
		}
		n := name("replicas")
		s.deployment(t, n, 1, "argo-applies")
		s.every(rate, func(int) { s.merge("deployments", n, `{"spec":{"replicas":0}}`, "keda") }, func(int) { s.apply(n, 1, "argo-applies") })
		want["Deployment/"+n] = true
		scaled := name("scaled")
		s.deployment(t, scaled, 1, "flux-applies")
		s.every(rate, func(int) {
			s.merge("deployments", scaled, `{"spec":{"replicas":2}}`, "kube-controller-manager", "scale")
		}, func(int) { s.apply(scaled, 1, "flux-applies") })
		want["Deployment/"+scaled] = true
	}
	// A scale to 0 leaves no owner.
	s.deployment(t, "emptied", 1, "flux-applies")
	s.every(60, func(int) { s.merge("deployments", "emptied", `{"spec":{"replicas":0}}`, "keda", "scale") }, func(int) { s.apply("emptied", 1, "flux-applies") })
	want["Deployment/emptied"] = true
	// An update without changes is not stored.
	u := workload("StatefulSet", "idle", 0, "c:1")
	if _, err := s.resource("statefulsets").Create(t.Context(), u, metav1.CreateOptions{FieldManager: "valkey-operator"}); err != nil {
		t.Fatal(err)
	}
	s.every(60, func(int) {
		_, _ = s.resource("statefulsets").Update(s.ctx, u.DeepCopy(), metav1.UpdateOptions{FieldManager: "valkey-operator"})
	})
	want["StatefulSet/idle"] = true // the only one
	return want
}

// healthy writes like a healthy cluster.
func (s *site) healthy(t *testing.T) {
	t.Helper()
	s.deployment(t, "rollout", 3, "flux-applies")
	s.every(12, func(i int) {
		_, _ = s.resource("deployments").Apply(s.ctx, "rollout", workload("Deployment", "rollout", 3, fmt.Sprintf("c:%d", i)), metav1.ApplyOptions{FieldManager: "flux-applies"})
	})
	for i := range 5 { // a GitOps tool that agrees
		name := fmt.Sprintf("agrees-%d", i)
		s.deployment(t, name, 1, "argo-applies")
		s.every(1, func(int) { s.apply(name, 1, "argo-applies") })
	}
	s.deployment(t, "autoscaled", 2, "flux-applies")
	s.every(20, func(i int) {
		s.merge("deployments", "autoscaled", fmt.Sprintf(`{"spec":{"replicas":%d}}`, []int{3, 5, 3, 2}[i%4]), "kube-controller-manager", "scale")
	})
	s.plain(t, "secrets", "Secret", "certificate")
	s.every(6, func(i int) {
		s.merge("secrets", "certificate", fmt.Sprintf(`{"stringData":{"tls.crt":"secret%d"}}`, i), "cert-manager")
	})
	for i := range 3 {
		name := fmt.Sprintf("leader-%d", i)
		s.plain(t, "configmaps", "ConfigMap", name)
		s.every(30, func(int) {
			s.merge("configmaps", name, fmt.Sprintf(`{"metadata":{"annotations":{"leader":"%d"}},"data":{"at":"%d"}}`, time.Now().UnixNano(), time.Now().UnixNano()), "leader")
		})
	}
}
