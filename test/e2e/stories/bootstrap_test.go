package stories_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	admission "k8s.io/api/admission/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// bootstrap is a new cluster: an API server behind a load balancer that is not healthy yet.
type bootstrap struct {
	*cluster.Cluster
	requests   *proxy.HTTP
	balancer   *proxy.TCP
	kubeconfig string
}

func newBootstrap(t *testing.T) *bootstrap {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	requests, err := c.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(requests.Close)
	balancer, err := proxy.NewTCP(requests.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(balancer.Close)
	kubeconfig, err := c.Kubeconfig(balancer.URL())
	if err != nil {
		t.Fatal(err)
	}
	balancer.HangUp()
	return &bootstrap{c, requests, balancer, kubeconfig}
}

// up makes the load balancer healthy.
func (b *bootstrap) up(t *testing.T) {
	t.Helper()
	if err := b.balancer.Restore(); err != nil {
		t.Fatal(err)
	}
}

// writes returns the paths of persistent applies, in order.
func (b *bootstrap) writes() []string {
	var paths []string
	for _, r := range b.requests.Requests() {
		path, query, _ := strings.Cut(r.URI, "?")
		if r.Method == http.MethodPatch && !strings.Contains(query, "dryRun") {
			paths = append(paths, path)
		}
	}
	return paths
}

// Story 4, the bootstrap: a new cluster whose API cannot be reached for minutes.
//
// All add-ons are piped from Helm to one apply, in Helm's order by kind: the storage driver's node
// part comes before the network, and the cloud controller after it.
func TestBootstrap(t *testing.T) {
	b := newBootstrap(t)
	webhook := newWebhook(t)
	addons := render(t, filepath.Join("testdata", "addons"), func(text string) string {
		return strings.NewReplacer("WEBHOOK_URL", webhook.URL, "CA_BUNDLE", webhook.ca()).Replace(text)
	})

	// The machine's configuration needs them in order, before there is an API server.
	printed := call(t, 0, b.kubeconfig, addons, "apply", "-f", "-", "--dry-run=client", "-o", "manifests").stdout.String()
	says(t, printed,
		"# phase 1 of 5, CRDs and namespaces: 3 objects\n", "name: storage\n", "name: network\n", "name: pools.storage.example.com\n",
		"# phase 2 of 5, configuration: 7 objects\n", "kind: ServiceAccount\n", "name: net\n", "kind: StorageClass\n",
		"# phase 3 of 5, network: 2 objects\n", "name: net\n", "name: cloud-controller\n",
		"# phase 4 of 5, workloads: 3 objects\n", "name: storage-node\n", "name: storage-controller\n", "name: fast\n",
		"# phase 5 of 5, webhooks: 1 object\n", "name: pools.storage.example.com\n")
	if n := b.balancer.Stats().Connections; n != 0 {
		t.Errorf("%d connections to the API server, want none", n)
	}

	// The apply starts before the server. It reports why it waits, and again later.
	r := start(t, b.kubeconfig, addons, "apply", "-f", "-", "--wait", "--server-timeout=10m")
	r.hears(t, "the API server does not answer, trying again for up to 600 s")
	r.hears(t, "s of 10m): EOF")
	until(t, "it knocks again and again", func() bool { return b.balancer.Stats().Connections > 3 }, r.stderr.String)
	if n := len(b.requests.Requests()); n != 0 {
		t.Fatalf("%d requests came through an unhealthy load balancer", n)
	}

	// Everything is applied as soon as possible, the network before the workloads that wait for it,
	// and everything becomes ready. The webhook has no backend yet; it comes last, so it blocks
	// nothing. The chart's test is not run.
	b.up(t)
	r.ends(t, 0)
	says(t, r.stderr.String(), "left out: 1 Helm hook, for Helm to run: pod/storage-test -n storage", "the API server is answering again",
		"phase 1 of 5, CRDs and namespaces", "phase 2 of 5, configuration", "phase 3 of 5, network", "phase 4 of 5, workloads",
		"phase 5 of 5, webhooks")
	says(t, r.stdout.String(), "16 created", "1 Helm hook left out")
	inOrder(t, b.writes(), []string{
		"/customresourcedefinitions/pools.storage.example.com", "/namespaces/network/serviceaccounts/net",
		"/namespaces/network/daemonsets/net", "/namespaces/storage/deployments/storage-controller",
		"/validatingwebhookconfigurations/pools.storage.example.com",
	})

	// Again, with the webhook registered but not ready: nothing changes, so no call is needed. The
	// manifests printed for the machine are the same set.
	says(t, call(t, 0, b.kubeconfig, addons, "apply", "-f", "-").stdout.String(), "16 unchanged")
	says(t, call(t, 0, b.kubeconfig, printed, "apply", "-f", "-").stdout.String(), "16 unchanged")

	// A change that the webhook has to admit waits for it.
	larger := strings.ReplaceAll(addons, "10Gi", "20Gi")
	r = start(t, b.kubeconfig, larger, "apply", "-f", "-", "--server-timeout=10m")
	r.hears(t, "pool.storage.example.com/fast -n storage")
	webhook.ready.Store(true)
	r.ends(t, 0)
	says(t, r.stdout.String(), "1 configured", "15 unchanged")
}

// The same with the projects' published manifests, if the corpus exists.
func TestBootstrapOfRealAddons(t *testing.T) {
	circle.Full(t)
	dir, ok := corpus()
	if !ok {
		t.Skip("no corpus of real manifests here; set CORPUS. TestBootstrap runs the story with samples of our own")
	}
	b := newBootstrap(t)
	addons := t.TempDir()
	copyChart(t, filepath.Join("testdata", "addons"), addons)
	for name, from := range map[string]string{
		"a-storage.yaml": "hcloud-csi/hcloud-csi.yml",
		"b-cloud.yaml":   "hcloud-ccm/ccm-networks.yaml",
		"c-network.yaml": "cilium-1.18/networking.cilium.io-k8s-1.16.yaml",
	} {
		text, err := os.ReadFile(filepath.Join(dir, from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(addons, "manifests", name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	manifests := render(t, addons, func(text string) string { return text })
	r := start(t, b.kubeconfig, manifests, "apply", "-f", "-", "--server-timeout=10m")
	r.hears(t, "the API server does not answer")
	b.up(t)
	r.ends(t, 0)
	writes := b.writes()
	agents := slices.IndexFunc(writes, func(path string) bool { return strings.HasSuffix(path, "/daemonsets/cilium") })
	operator := slices.IndexFunc(writes, func(path string) bool { return strings.HasSuffix(path, "/deployments/cilium-operator") })
	for _, later := range []string{"/deployments/hcloud-csi-controller", "/daemonsets/hcloud-csi-node"} {
		at := slices.IndexFunc(writes, func(path string) bool { return strings.HasSuffix(path, later) })
		if agents < 0 || operator < 0 || at < max(agents, operator) {
			t.Errorf("%s is written as number %d, the network as %d and %d", later, at, agents, operator)
		}
	}
	says(t, call(t, 0, b.kubeconfig, manifests, "apply", "-f", "-").stdout.String(), "unchanged")
}

// inOrder fails the test unless these paths were written in this order.
func inOrder(t *testing.T, writes, want []string) {
	t.Helper()
	last := -1
	for _, suffix := range want {
		at := slices.IndexFunc(writes, func(path string) bool { return strings.HasSuffix(path, suffix) })
		if at <= last {
			t.Errorf("%s was written as number %d, after number %d of %q", suffix, at, last, writes)
		}
		last = at
	}
}

// render returns helm template's output for a chart with changed manifests.
func render(t *testing.T, dir string, change func(string) string) string {
	t.Helper()
	rendered := t.TempDir()
	copyChart(t, dir, rendered)
	files, err := filepath.Glob(filepath.Join(rendered, "manifests", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(change(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return chart.NewHelm(t, "").Run(t, "template", "addons", rendered)
}

func copyChart(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// webhook admits everything once it is ready.
type webhook struct {
	*httptest.Server
	ready atomic.Bool
}

func newWebhook(t *testing.T) *webhook {
	w := &webhook{}
	w.Server = httptest.NewTLSServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *webhook) ca() string {
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
	return base64.StdEncoding.EncodeToString(block)
}

// ServeHTTP implements http.Handler.
func (w *webhook) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var review admission.AdmissionReview
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil || review.Request == nil || !w.ready.Load() {
		http.Error(out, "not ready", http.StatusServiceUnavailable)
		return
	}
	review.Response, review.Request = &admission.AdmissionResponse{UID: review.Request.UID, Allowed: true}, nil
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(review)
}
