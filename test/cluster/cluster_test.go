package cluster

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

func TestPodsBecomeReady(t *testing.T) {
	t.Parallel()
	c := everything.Cluster(t)
	admin := c.KubeconfigPath
	mustKubectl(t, c, admin, "apply", "--server-side", "-f", "testdata/web.yaml")
	mustKubectl(t, c, admin, "-n", "web", "rollout", "status", "deployment/web", "--timeout=60s")
	mustKubectl(t, c, admin, "-n", "web", "rollout", "status", "statefulset/store", "--timeout=60s")
	mustKubectl(t, c, admin, "-n", "web", "wait", "--for=condition=Complete", "job/migrate", "--timeout=60s")
	if got := mustKubectl(t, c, admin, "-n", "web", "get", "pvc", "-o", "jsonpath={.items[*].status.phase}"); got != "Bound" {
		t.Errorf("claims are %q, want Bound", got)
	}
	slices := mustKubectl(t, c, admin, "-n", "web", "get", "endpointslices", "-l", "kubernetes.io/service-name=web",
		"-o", "jsonpath={.items[*].endpoints[*].conditions.ready}")
	if slices != "true true" {
		t.Errorf("endpoints are ready: %q, want two", slices)
	}
	mustKubectl(t, c, admin, "delete", "namespace", "web", "--timeout=60s")
}

func TestVersionMatchesKubernetesModule(t *testing.T) {
	t.Parallel()
	c := small.Cluster(t)
	var versions struct {
		ClientVersion, ServerVersion struct{ GitVersion, Major, Minor string }
	}
	out := mustKubectl(t, c, c.KubeconfigPath, "version", "-o", "json")
	if err := json.Unmarshal([]byte(out), &versions); err != nil {
		t.Fatal(err)
	}
	gomod := must[[]byte](t)(os.ReadFile(filepath.Join(must[tools](t)(findTools()).kubernetes, "go.mod")))
	server := versions.ServerVersion
	if !strings.Contains(string(gomod), "k8s.io/kubernetes "+server.GitVersion) ||
		!strings.HasPrefix(server.GitVersion, "v"+server.Major+"."+server.Minor+".") ||
		versions.ClientVersion != server {
		t.Errorf("versions are %+v, want that of k8s.io/kubernetes in go.mod", versions)
	}
}

func TestUsersHaveNoExtraRights(t *testing.T) {
	t.Parallel()
	c := small.Cluster(t)
	alice := must[string](t)(c.KubeconfigFor("alice", "dev", "web"))
	who := mustKubectl(t, c, alice, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
	if want := `alice ["dev","web","system:authenticated"]`; who != want {
		t.Errorf("alice is %s, want %s", who, want)
	}
	if out, err := kubectl(t, c, alice, "get", "secrets"); err == nil || !strings.Contains(out, "Forbidden") {
		t.Errorf("alice lists secrets: got %s, want Forbidden", out)
	}
}

func TestClustersAreIsolated(t *testing.T) {
	t.Parallel()
	one, two := small.Cluster(t), ForTest(t, Options{})
	mustKubectl(t, two, two.KubeconfigPath, "create", "configmap", "only-in-two")
	if out, err := kubectl(t, one, one.KubeconfigPath, "get", "configmap", "only-in-two"); err == nil || !strings.Contains(out, "NotFound") {
		t.Errorf("the first cluster has an object of the second: %s", out)
	}
	stray := must[string](t)(one.Kubeconfig(two.URL))
	if out, err := kubectl(t, one, stray, "get", "namespaces"); err == nil || !strings.Contains(out, "x509") {
		t.Errorf("a client of the first cluster trusts the second: %s", out)
	}
	if out, err := kubectl(t, one, stray, "get", "namespaces", "--insecure-skip-tls-verify"); err == nil {
		t.Errorf("the second cluster trusts a user of the first: %s", out)
	}
}

func TestRestartKeepsAddressAndData(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{Nodes: 1})
	mustKubectl(t, c, c.KubeconfigPath, "create", "configmap", "kept")
	for name, stop := range map[string]func() error{
		"stopped": func() error { return c.StopAPIServer(t.Context()) },
		"killed":  c.KillAPIServer,
	} {
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		_, err := net.Dial("tcp", strings.TrimPrefix(c.URL, "https://"))
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: dial: %v, want connection refused", name, err)
		}
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mustKubectl(t, c, c.KubeconfigPath, "get", "configmap", "kept")
		mustKubectl(t, c, c.KubeconfigPath, "create", "deployment", name, "--image=registry.example/x")
		mustKubectl(t, c, c.KubeconfigPath, "rollout", "status", "deployment/"+name, "--timeout=60s")
	}
	if err := c.StartAPIServer(t.Context()); err == nil {
		t.Error("a second API server started next to the first")
	}
}

func TestAuditLogRecordsResponseStatus(t *testing.T) {
	t.Parallel()
	c := small.Cluster(t)
	client := must[*apiClient](t)(newAPIClient(must[*rest.Config](t)(c.RESTConfig())))
	response, err := client.http.Get(c.URL + "/api/v1/namespaces/kube-system")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	id := response.Header.Get("Audit-Id")
	eventually(t, "the audit log has the request", func() bool {
		for _, event := range must[[]AuditEvent](t)(c.AuditEvents()) {
			if event.AuditID == id {
				return event.Verb == "get" && event.ResponseStatus.Code == 200 && event.User.Username == "kubernetes-admin"
			}
		}
		return false
	})
}

func TestStartQuotesTheLog(t *testing.T) {
	t.Parallel()
	skipShort(t)
	dir := filepath.Join(t.TempDir(), "cluster")
	_, err := Start(t.Context(), Options{Dir: dir, APIServerArgs: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended") || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("start: %v", err)
	}
	_, err = Start(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "already contains a cluster") {
		t.Errorf("start in a used folder: %v", err)
	}
}

func TestBuildOnce(t *testing.T) {
	t.Parallel()
	skipShort(t)
	dir := must[string](t)(binaries(nil))
	if again := must[string](t)(Build(t.Context(), io.Discard)); again != dir {
		t.Errorf("build: %s, then %s", dir, again)
	}
}

func TestUse(t *testing.T) {
	t.Parallel()
	own := small.Cluster(t)
	c := must[*Cluster](t)(Use(own.KubeconfigPath))
	defer c.Stop()
	way := must[*proxy.TCP](t)(proxy.NewTCP(c.URL))
	defer way.Close()
	through := must[string](t)(c.Kubeconfig(way.URL()))
	mustKubectl(t, c, through, "get", "namespace", "default")
	for name, err := range map[string]error{
		"stop":         c.StopAPIServer(t.Context()),
		"kill":         c.KillAPIServer(),
		"start":        c.StartAPIServer(t.Context()),
		"route":        c.RouteService("default", "kubernetes", "127.0.0.1:1"),
		"certificates": func() error { _, err := c.KubeconfigFor("alice"); return err }(),
		"HTTP proxy":   func() error { _, err := c.HTTPProxy(); return err }(),
	} {
		if !errors.Is(err, errExternal) {
			t.Errorf("%s: %v, want %v", name, err, errExternal)
		}
	}
}

func TestEnvironmentSelectsExternalCluster(t *testing.T) {
	own := small.Cluster(t)
	t.Setenv(EnvKubeconfig, own.KubeconfigPath)
	shared := Shared{Options: Options{Nodes: 1}}
	for _, c := range []*Cluster{shared.Cluster(t), ForTest(t, Options{})} {
		if !c.External() || c.URL != own.URL {
			t.Errorf("cluster at %s, external is %t", c.URL, c.External())
		}
		c.Stop()
		c.Stop() // does no harm
	}
	if err := own.client.get(t.Context(), "/readyz", nil); err != nil {
		t.Errorf("stopping ended a cluster that is not ours: %v", err)
	}
}
