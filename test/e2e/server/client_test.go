package server_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	door "github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// The tests in this file check the promises of pkg/client with a real server, during failures of
// the network and the server.

// visitor is a client of pkg/client, with the events that it received.
type visitor struct {
	*door.Client
	mu       sync.Mutex
	outages  int // reports about the server as a whole
	retries  int // reports about single requests
	warnings map[object.Ref][]string
}

// visit returns a client for a kubeconfig; o changes the plugin's defaults.
func visit(t *testing.T, kubeconfig string, o door.Options) *visitor {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{warnings: map[object.Ref][]string{}}
	o.REST = config
	if o.ServerTimeout == 0 {
		o.ServerTimeout = time.Minute
	}
	o.OnRetry = func(ref object.Ref, err error, in, left time.Duration) {
		t.Logf("%s: %v; again in %s, for %s", ref, err, in.Round(time.Millisecond), left.Round(time.Second))
		v.mu.Lock()
		defer v.mu.Unlock()
		if ref == (object.Ref{}) {
			v.outages++
		} else {
			v.retries++
		}
	}
	o.OnWarning = func(ref object.Ref, text string) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.warnings[ref] = append(v.warnings[ref], text)
	}
	if v.Client, err = door.New(o); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *visitor) reported() (outages, retries int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.outages, v.retries
}

func (v *visitor) kind(t *testing.T, group, version, kind string) object.Kind {
	t.Helper()
	k, err := v.Kind(t.Context(), schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// apply applies an object in YAML.
func (v *visitor) apply(ctx context.Context, text string) (*unstructured.Unstructured, error) {
	var u unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		return nil, err
	}
	kind, err := v.Kind(ctx, u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return v.Apply(ctx, kind, &u, object.Write{Manager: manager})
}

func (v *visitor) mustApply(t *testing.T, text string) {
	t.Helper()
	if _, err := v.apply(t.Context(), text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// applyMany applies n ConfigMaps in parallel, calls between when half of them are done, and returns
// their errors as one.
func (v *visitor) applyMany(ctx context.Context, namespace string, n int, between func()) error {
	errs := make([]error, n)
	half, after := make(chan struct{}, n), make(chan struct{})
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			if i >= n-n/10 { // the last tenth starts after it, since all others may be done by then
				<-after
			}
			_, errs[i] = v.apply(ctx, configMap(namespace, fmt.Sprint("many-", i)))
			half <- struct{}{}
		})
	}
	for range n / 2 {
		<-half
	}
	between()
	close(after)
	wait.Wait()
	return errors.Join(errs...)
}

func configMap(namespace, name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}, data: {a: b}}", name, namespace)
}

// namespaceFor creates a namespace for a test.
func namespaceFor(t *testing.T, v *visitor) string {
	t.Helper()
	name := fmt.Sprintf("door-%d", time.Now().UnixNano())
	v.mustApply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")
	return name
}

// liveRefs reads the ConfigMaps many-0, many-1, … and returns the number of existing ones.
func (v *visitor) countMany(t *testing.T, namespace string, n int) int {
	t.Helper()
	kind := v.kind(t, "", "v1", "ConfigMap")
	refs := make([]object.Ref, n)
	for i := range refs {
		refs[i] = object.Ref{GVK: kind.GVK, Namespace: namespace, Name: fmt.Sprint("many-", i)}
	}
	there, visits := 0, 0
	v.Live(t.Context(), kind, refs, func(i int, live *unstructured.Unstructured, err error) {
		visits++
		if err != nil {
			t.Errorf("%s: %v", refs[i], err)
		}
		if live != nil {
			there++
		}
	})
	if visits != n {
		t.Errorf("%d visits for %d objects", visits, n)
	}
	return there
}

// Edge case 28: the server is killed during a run and restarted. All objects are applied, none
// twice.
func TestServerRestart(t *testing.T) {
	circle.Full(t) // TestRunOutlivesServer covers the plugin
	c := cluster.ForTest(t, cluster.Options{AuditLog: "audit.log"})
	c.OwnOnly(t)
	const n, run = 200, "01RESTART"
	v := visit(t, c.KubeconfigPath, door.Options{Run: run})
	ns := namespaceFor(t, v)
	v.kind(t, "", "v1", "ConfigMap")
	err := v.applyMany(t.Context(), ns, n, func() {
		if err := c.KillAPIServer(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if outages, _ := v.reported(); outages == 0 {
		t.Error("the outage was not reported")
	}
	if there := v.countMany(t, ns, n); there != n {
		t.Errorf("%d of %d objects are there", there, n)
	}
	created, seen := map[string]int{}, map[string]bool{}
	events, err := c.AuditEvents()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if !strings.HasPrefix(e.AuditID, run+"-") {
			continue
		}
		if seen[e.AuditID] {
			t.Errorf("Audit-ID %s was used twice", e.AuditID)
		}
		seen[e.AuditID] = true
		if e.Verb == "patch" && e.ResponseStatus.Code == 201 {
			created[e.RequestURI]++
		}
	}
	for uri, times := range created {
		if times > 1 {
			t.Errorf("created %d times: %s", times, uri)
		}
	}
}

// Edge case 28: failures of connections are reported as one outage.
func TestBadNetwork(t *testing.T) {
	c := shared.Cluster(t)
	tests := map[string]func(t *testing.T, p *proxy.TCP){
		"high latency":      func(_ *testing.T, p *proxy.TCP) { p.SetRTT(100 * time.Millisecond) },
		"connections break": func(_ *testing.T, p *proxy.TCP) { p.Break() },
		"delayed responses": func(_ *testing.T, p *proxy.TCP) {
			p.Hold()
			time.AfterFunc(time.Second, p.Release)
		},
		"refused for a while": func(t *testing.T, p *proxy.TCP) {
			p.Refuse()
			p.Break()
			restoreLater(t, p)
		},
		"connections closed for a while": func(t *testing.T, p *proxy.TCP) {
			p.HangUp()
			p.Break()
			restoreLater(t, p)
		},
	}
	for name, misfortune := range tests {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := behind(t, c)
			v := visit(t, kubeconfig, door.Options{})
			ns := namespaceFor(t, v)
			if err := v.applyMany(t.Context(), ns, 100, func() { misfortune(t, p) }); err != nil {
				t.Fatal(err)
			}
			if there := v.countMany(t, ns, 100); there != 100 {
				t.Errorf("%d of 100 objects are there", there)
			}
		})
	}
}

func restoreLater(t *testing.T, p *proxy.TCP) {
	time.AfterFunc(2*time.Second, func() {
		if err := p.Restore(); err != nil {
			t.Error(err)
		}
	})
}

// The client waits for a starting cluster from its first request, which is for discovery, and
// reports that at once.
func TestBootstrappingCluster(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := behind(t, c)
	p.HangUp()
	v := visit(t, kubeconfig, door.Options{CacheDir: t.TempDir()})
	done := make(chan error)
	go func() {
		_, err := v.Kind(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		done <- err
	}()
	for outages := 0; outages < 3; outages, _ = v.reported() {
		select {
		case err := <-done:
			t.Fatalf("a result (%v) before the server was reachable", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := p.Restore(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// If a server never comes back, every call ends with the same error.
func TestServerIsGone(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := behind(t, c)
	v := visit(t, kubeconfig, door.Options{ServerTimeout: 2 * time.Second})
	ns := namespaceFor(t, v)
	err := v.applyMany(t.Context(), ns, 100, func() {
		p.Refuse()
		p.Break()
	})
	var gone *transport.UnreachableError
	if !errors.As(err, &gone) || gone.For <= 0 || gone.Hint() == "" {
		t.Errorf("error %v", err)
	}
}

// Edge case 19: nothing can be created in a terminating namespace, which is reported at once.
func TestTerminatingNamespace(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{}) // without controllers it stays terminating
	c.OwnOnly(t)
	v := visit(t, c.KubeconfigPath, door.Options{})
	ns := namespaceFor(t, v)
	kubectl(t, c, "delete", "namespace", ns, "--wait=false")
	_, err := v.apply(t.Context(), configMap(ns, "late"))
	var hint interface{ Hint() string }
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || !errors.As(err, &hint) {
		t.Errorf("error %v", err)
	}
	if _, err = v.apply(t.Context(), configMap("nowhere", "late")); !apierrors.IsNotFound(err) || !errors.As(err, &hint) {
		t.Errorf("error %v", err)
	}
	if outages, retries := v.reported(); outages+retries > 0 {
		t.Errorf("%d outages, %d retries", outages, retries)
	}
}

func kubectl(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	args = append([]string{"--kubeconfig", c.KubeconfigPath}, args...)
	out, err := exec.CommandContext(t.Context(), c.Binary("kubectl"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.door.example.com}
spec:
  group: door.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// Edge case 18: a definition and its objects in one run, with an older cache.
func TestNewKind(t *testing.T) {
	c, dir := shared.Cluster(t), t.TempDir()
	v := visit(t, c.KubeconfigPath, door.Options{CacheDir: dir})
	ns := namespaceFor(t, v)
	gvk := schema.GroupVersionKind{Group: "door.example.com", Version: "v1", Kind: "Widget"}
	if _, err := v.Kind(t.Context(), gvk); !errors.As(err, new(*door.NoKindError)) {
		t.Fatalf("before it is defined: %v", err)
	}
	v.mustApply(t, widgets)
	defer kubectl(t, c, "delete", "crd", "widgets.door.example.com", "--wait=false")
	if kind, err := v.Served(t.Context(), gvk, 0); err != nil || kind.Resource != "widgets" || !kind.Namespaced {
		t.Fatalf("kind %+v, error %v", kind, err)
	}
	const widget = "{apiVersion: door.example.com/v1, kind: Widget, metadata: {name: w, namespace: %s}}"
	v.mustApply(t, fmt.Sprintf(widget, ns))
	next := visit(t, c.KubeconfigPath, door.Options{CacheDir: dir})
	next.mustApply(t, fmt.Sprintf(widget, ns))
}

// Edge case 18, repeated: a definition, and right after it an object from another process.
func TestNewKindOfAnotherRun(t *testing.T) {
	runs := circle.Of(6, 30, 30)
	c := shared.Cluster(t)
	first := visit(t, c.KubeconfigPath, door.Options{})
	ns := namespaceFor(t, first)
	early := 0
	for i := range runs {
		group := fmt.Sprintf("door%d.example.com", i)
		gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"}
		second := visit(t, c.KubeconfigPath, door.Options{})
		if _, err := second.Kind(t.Context(), gvk); !errors.As(err, new(*door.NoKindError)) {
			t.Fatalf("before it is defined: %v", err)
		}
		first.mustApply(t, strings.ReplaceAll(widgets, "door.example.com", group))
		_, err := second.Upcoming(t.Context(), gvk, func(definition string) {
			early++
			if definition != "widgets."+group {
				t.Errorf("waited for %s", definition)
			}
		})
		if err != nil {
			t.Errorf("wait for a new kind: %v", err)
		}
		second.mustApply(t, fmt.Sprintf("{apiVersion: %s/v1, kind: Widget, metadata: {name: w, namespace: %s}}", group, ns))
		kubectl(t, c, "delete", "crd", "widgets."+group, "--wait=false")
	}
	t.Logf("%d of %d runs waited for the kind to be served", early, runs)
}

// Kinds in kubectl's discovery cache need no request, and many objects need one.
func TestFewRequests(t *testing.T) {
	c, dir := shared.Cluster(t), t.TempDir()
	p, err := c.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	kubeconfig, err := c.Kubeconfig(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "api-resources", "--kubeconfig", kubeconfig, "--cache-dir", dir)
	asked := p.Count("GET", "/api")
	v := visit(t, kubeconfig, door.Options{CacheDir: dir})
	v.kind(t, "", "v1", "ConfigMap")
	v.kind(t, "apps", "v1", "Deployment")
	if n := p.Count("GET", "/api") - asked; n != 0 {
		t.Errorf("%d requests for kinds in kubectl's cache: %v", n, p.Requests()[asked:])
	}

	cold := visit(t, kubeconfig, door.Options{CacheDir: t.TempDir()})
	cold.kind(t, "", "v1", "ConfigMap")
	cold.kind(t, "apps", "v1", "Deployment")
	if n := p.Count("GET", "/api") - asked; n != 2 {
		t.Errorf("%d requests with a cold cache, want 2 (aggregated discovery)", n)
	}

	ns := namespaceFor(t, v)
	if err := v.applyMany(t.Context(), ns, 300, func() {}); err != nil {
		t.Fatal(err)
	}
	before := p.Count("GET", "")
	if there := v.countMany(t, ns, 310); there != 300 {
		t.Errorf("%d of 300 objects are there", there)
	}
	if n := p.Count("GET", "") - before; n != 1 {
		t.Errorf("%d requests to read 310 objects, want one list", n)
	}
}

// A client that may not list can still get objects.
func TestListForbidden(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	admin := visit(t, c.KubeconfigPath, door.Options{})
	ns := namespaceFor(t, admin)
	admin.mustApply(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader, namespace: `+ns+`},
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}`)
	admin.mustApply(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader, namespace: `+ns+`},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader},
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]}`)
	if err := admin.applyMany(t.Context(), ns, 20, func() {}); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.KubeconfigFor("reader")
	if err != nil {
		t.Fatal(err)
	}
	if there := visit(t, kubeconfig, door.Options{}).countMany(t, ns, 25); there != 20 {
		t.Errorf("%d of 20 objects are there", there)
	}
}

// Edge case 34 with the server's own warnings.
func TestServerWarnings(t *testing.T) {
	v := visit(t, shared.Cluster(t).KubeconfigPath, door.Options{})
	ns := namespaceFor(t, v)
	kind := v.kind(t, "", "v1", "Endpoints") // deprecated
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(kind.GVK)
			u.SetNamespace(ns)
			u.SetName(fmt.Sprint("warned-", i))
			for _, dry := range []bool{true, false} {
				if _, err := v.Apply(t.Context(), kind, u, object.Write{Manager: manager, DryRun: dry}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if len(v.warnings) != 20 {
		t.Errorf("%d objects have warnings, want 20", len(v.warnings))
	}
	for ref, texts := range v.warnings {
		if len(texts) != 1 {
			t.Errorf("%s: %q, want one warning", ref, texts)
		}
	}
}
