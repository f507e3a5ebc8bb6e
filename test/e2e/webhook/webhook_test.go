// Package webhook_test runs the webhook next to a real control plane, whose API server calls it
// through its Service on loopback.
package webhook_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/loopback"
)

// The webhook's address for the API server.
const (
	systemNamespace = "k8sconnect"
	serviceName     = "k8sconnect-webhook"
)

// shared is the cluster of all tests that do not need their own.
var shared = cluster.Shared{}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(shared.Main(m))
}

// running is a webhook that an API server calls.
type running struct {
	*cluster.Cluster
	admin *client
	// Registry contains the webhook's metrics.
	registry *prometheus.Registry
	hints    *hints
	// certDir contains its certificate, signed by authority.
	certDir   string
	authority []byte
	// configuration is the configuration by which the API server calls it.
	configuration *unstructured.Unstructured
	// address is its address for admission.
	address string
	// health is its address for health checks.
	health string
	// stop ends it, and returns the result of Start.
	stop func() error
}

// hints collects the webhook's hints.
type hints struct {
	mu  sync.Mutex
	all []ownership.Hint
}

func (h *hints) Hint(hint ownership.Hint) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, hint)
	return true
}

// of returns the hints for an object.
func (h *hints) of(u *unstructured.Unstructured) []ownership.Hint {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.all), func(h ownership.Hint) bool { return h.UID != u.GetUID() })
}

// start starts a webhook for a cluster, and returns once the API server calls it. It ends with the
// test.
func start(t *testing.T, c *cluster.Cluster, parts webhook.Parts) *running {
	t.Helper()
	r := &running{Cluster: c, admin: newClient(t, c.KubeconfigPath)}
	r.certDir, r.authority = certificates(t)
	r.serve(t, parts)
	r.install(t)
	return r
}

// replica starts another replica with the same certificate.
func (r *running) replica(t *testing.T) *running {
	t.Helper()
	other := &running{Cluster: r.Cluster, admin: r.admin, certDir: r.certDir}
	other.serve(t, webhook.Parts{})
	return other
}

// serve starts the webhook.
func (r *running) serve(t *testing.T, parts webhook.Parts) {
	t.Helper()
	r.registry, r.hints = prometheus.NewRegistry(), &hints{}
	r.address, r.health = address(t), address(t)
	if parts.Hints == nil {
		parts.Hints = r.hints
	}
	config, err := r.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(r.address)
	if err != nil {
		t.Fatal(err)
	}
	opts := webhook.Options{
		Host: host, CertDir: r.certDir, Health: r.health, Metrics: "0", Registry: r.registry, Log: testr.New(t),
		ShutdownDelay: time.Second,
	}
	if _, err := fmt.Sscan(port, &opts.Port); err != nil {
		t.Fatal(err)
	}
	server, err := webhook.New(config, opts, parts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// install registers the webhook with the API server.
func (r *running) install(t *testing.T) {
	t.Helper()
	r.admin.must(t, "v1", "Namespace", `metadata: {name: `+systemNamespace+`}`)
	r.admin.must(t, "v1", "Service", `
metadata: {name: `+serviceName+`, namespace: `+systemNamespace+`}
spec: {ports: [{port: 443}]}`)
	if err := r.RouteService(systemNamespace, serviceName, r.address); err != nil {
		t.Fatal(err)
	}
	r.configuration = configuration(t, r.authority)
	r.admin.apply(t, r.configuration, "setup", false)
	t.Cleanup(func() {
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
		if err := r.admin.Resource(gvr).Delete(context.Background(), r.configuration.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	r.await(t)
}

// configuration returns the chart's configuration, except that failed calls fail the write, so that
// every fault is visible.
func configuration(t *testing.T, authority []byte) *unstructured.Unstructured {
	t.Helper()
	objects := chart.NewHelm(t, "").Render(t, "--namespace", systemNamespace, "--set", "fullnameOverride="+serviceName)
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ValidatingWebhookConfiguration" })
	if i < 0 {
		t.Fatal("the chart calls no webhook")
	}
	webhooks, _, _ := unstructured.NestedSlice(objects[i].Object, "webhooks")
	for _, w := range webhooks {
		entry := w.(map[string]any)
		if entry["name"] == "custom.k8sconnect.io" {
			entry["rules"] = customRules()
		}
		entry["failurePolicy"] = "Fail"
		entry["timeoutSeconds"] = int64(20) // machines that run tests may be slow
		client := entry["clientConfig"].(map[string]any)
		client["caBundle"] = base64.StdEncoding.EncodeToString(authority)
		path := map[string]string{"ownership.k8sconnect.io": admission.OwnershipPath, "reach.k8sconnect.io": admission.ReachPath}[entry["name"].(string)]
		client["service"].(map[string]any)["path"] = cmp.Or(path, admission.DeprecationPath) // the webhook writes it, with a secret
	}
	objects[i].Object["webhooks"] = webhooks
	return objects[i]
}

// customRules returns the rules that a leader would write; there is none here. They match the
// deprecated version of birds, and ConfigMaps, which a test treats as custom.
func customRules() []any {
	rule := func(group, version, resource string, operations ...any) any {
		return map[string]any{
			"apiGroups": []any{group}, "apiVersions": []any{version}, "resources": []any{resource}, "operations": operations,
		}
	}
	return []any{rule("example.com", "v1beta1", "birds", "CREATE", "UPDATE"), rule("", "v1", "configmaps", "CREATE")}
}

// await writes until the API server calls both of the webhook's paths, and no call fails.
func (r *running) await(t *testing.T) {
	t.Helper()
	var err error
	for i := range 3000 {
		u := object("v1", "ConfigMap", `
metadata: {name: probe-`+fmt.Sprint(i/2)+`, namespace: default}
data: {a: "`+fmt.Sprint(i)+`"}`)
		_, err = r.admin.tryApply(u, fmt.Sprint("probe-", i%2), false)
		if err == nil && r.calls(t, "ownership") > 0 && r.calls(t, "deprecation") > 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the API server does not call the webhook: ", err)
}

// calls returns the number of reviews at a path.
func (r *running) calls(t *testing.T, path string) uint64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "k8sconnect_admission_duration_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == path {
				return m.GetHistogram().GetSampleCount()
			}
		}
	}
	return 0
}

// certificates writes a serving certificate, and returns its folder and its CA.
func certificates(t *testing.T) (dir string, authority []byte) {
	t.Helper()
	dir = t.TempDir()
	chain, key, err := cert.GenerateSelfSignedCertKey(serviceName+"."+systemNamespace+".svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, chain
}

func address(t *testing.T) string {
	t.Helper()
	address, err := loopback.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
