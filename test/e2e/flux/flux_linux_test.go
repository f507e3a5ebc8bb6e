package flux_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

var shared = e2etest.NewShared()

func TestMain(m *testing.M) { e2etest.Main(m, shared) }

const (
	stays = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stays-NAME}\n"
	moves = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: moves}\ndata: {a: b}\n"
)

// source returns the manifests of a tool, with or without the object that moves.
func source(name string, has bool) string {
	text := strings.ReplaceAll(stays, "NAME", name)
	if has {
		text += moves
	}
	return text
}

// definitions are the kinds that the controller watches. Source-controller is not needed: the test serves the
// artifact, and sets the status that names it.
func definitions() string {
	var b strings.Builder
	for _, kind := range []struct{ group, name, plural string }{
		{"kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations"},
		{"source.toolkit.fluxcd.io", "GitRepository", "gitrepositories"},
		{"source.toolkit.fluxcd.io", "OCIRepository", "ocirepositories"},
		{"source.toolkit.fluxcd.io", "Bucket", "buckets"},
	} {
		fmt.Fprintf(&b, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]s, singular: %[4]s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, kind.group, kind.name, kind.plural, strings.ToLower(kind.name))
	}
	return b.String()
}

// site is a namespace in which Helm and Flux apply objects.
type site struct {
	*cluster.Cluster
	helm      *chart.Helm
	namespace string
	url       string
	revision  int
	mu        sync.Mutex
	archives  map[string][]byte
}

func newSite(t *testing.T) *site {
	t.Helper()
	controller, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "kustomize-controller"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(controller); err != nil {
		t.Skip("bin/kustomize-controller is missing: make bin/kustomize-controller")
	}
	c := shared.Cluster(t)
	s := &site{Cluster: c, helm: chart.NewHelm(t, c.KubeconfigPath), namespace: e2etest.Namespace(t, c), archives: map[string][]byte{}}
	s.apply(t, definitions())
	e2etest.Kubectl(t, c, "wait", "--for=condition=Established", "crd/kustomizations.kustomize.toolkit.fluxcd.io", "crd/gitrepositories.source.toolkit.fluxcd.io",
		"crd/ocirepositories.source.toolkit.fluxcd.io", "crd/buckets.source.toolkit.fluxcd.io")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = w.Write(s.archives[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	cmd := exec.Command(controller, "--watch-all-namespaces=false", "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--requeue-dependency=1s")
	var log bytes.Buffer
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.KubeconfigPath, "RUNTIME_NAMESPACE="+s.namespace)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return s
}

func (s *site) apply(t *testing.T, text string) {
	t.Helper()
	e2etest.Kubectl(t, s.Cluster, "apply", "--server-side", "--force-conflicts", "-n", s.namespace, "-f", e2etest.File(t, text))
}

// flux publishes manifests, and waits until the controller has applied them.
func (s *site) flux(t *testing.T, manifests string) {
	t.Helper()
	s.revision++
	revision := fmt.Sprintf("main@sha1:%040d", s.revision)
	path := fmt.Sprintf("/%d.tar.gz", s.revision)
	archive := packed(t, manifests)
	s.mu.Lock()
	s.archives[path] = archive
	s.mu.Unlock()
	s.apply(t, "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: apps}\nspec: {url: 'https://git.example/apps', interval: 1h}\n")
	status := fmt.Sprintf(`{"status": {"artifact": {"path": "x", "url": "%s%s", "revision": %q, "digest": "sha256:%x", "lastUpdateTime": "2026-01-01T00:00:00Z", "size": %d}}}`,
		s.url, path, revision, sha256.Sum256(archive), len(archive))
	e2etest.Kubectl(t, s.Cluster, "patch", "gitrepository/apps", "-n", s.namespace, "--subresource=status", "--type=merge", "-p", status)
	s.apply(t, "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, annotations: {reconcile.fluxcd.io/requestedAt: '"+revision+"'}}\n"+
		"spec: {interval: 1h, retryInterval: 1s, prune: true, path: ./, targetNamespace: "+s.namespace+", sourceRef: {kind: GitRepository, name: apps}}\n")
	e2etest.Until(t, "Flux has applied "+revision, func() bool {
		return e2etest.Kubectl(t, s.Cluster, "get", "kustomization/apps", "-n", s.namespace, "-o", "jsonpath={.status.lastAppliedRevision}") == revision
	})
}

// packed returns an archive with one file, as source-controller stores it.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	if err := w.WriteHeader(&tar.Header{Name: "all.yaml", Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// folder writes a chart.
func folder(t *testing.T, template string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"Chart.yaml": "{apiVersion: v2, name: web, version: 0.1.0}", "templates/all.yaml": template} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// uid returns the UID of the object that moves; "" if it is gone.
func (s *site) uid(t *testing.T) string {
	t.Helper()
	return e2etest.Kubectl(t, s.Cluster, "get", "cm/moves", "-n", s.namespace, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
}

// killed runs the plugin, and kills it at its nth write, which does not reach the server.
func (s *site) killed(t *testing.T, nth int, args ...string) {
	t.Helper()
	p, kubeconfig := e2etest.Proxied(t, s.Cluster)
	var mu sync.Mutex
	writes, reached := 0, make(chan struct{})
	p.Fail(-1, func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if !e2etest.IsWrite(r.Method, r.URL.RawQuery) {
			return false
		}
		if writes++; writes == nth {
			close(reached)
		}
		return writes >= nth
	}, proxy.Fault{Status: http.StatusServiceUnavailable, Delay: time.Minute})
	run := e2etest.Start(t, kubeconfig, args...)
	select {
	case <-reached:
	case <-run.Over:
	}
	_ = run.Cmd.Process.Signal(syscall.SIGKILL) // may have ended
	<-run.Over
	t.Logf("killed at write %d:\n%s", nth, run)
}

// An object that moves between a Helm release and a Flux Kustomization is neither deleted nor created again, at
// whichever write the move is killed and whichever tool runs first: the real Flux keeps an object with the annotation
// of the move, and applies one with the new marks. Afterwards, the new owner deletes it when it leaves its source.
func TestMovesWithFlux(t *testing.T) {
	circle.Full(t)
	for _, toFlux := range []bool{true, false} {
		for kill := 2; kill <= 4; kill++ { // Three writes. With 4, none is cut off.
			for _, oldFirst := range []bool{true, false} {
				t.Run(fmt.Sprintf("to-flux-%t-killed-at-%d-old-first-%t", toFlux, kill, oldFirst), func(t *testing.T) {
					newSite(t).story(t, toFlux, kill, oldFirst)
				})
			}
		}
	}
}

func (s *site) story(t *testing.T, toFlux bool, kill int, oldFirst bool) {
	helm := func(has bool) {
		t.Helper()
		_, err := s.helm.Try(t.Context(), "upgrade", "--install", "web", folder(t, source("helm", has)), "-n", s.namespace)
		if err != nil && (!has || kill == 4 || !strings.Contains(err.Error(), "cannot be imported")) {
			t.Errorf("helm: %v", err)
		}
	}
	flux := func(has bool) { t.Helper(); s.flux(t, source("flux", has)) }
	from, to := helm, flux
	move := []string{"give", "cm/moves", "-n", s.namespace, "--from-release=" + s.namespace + "/web", "--to-inventory=kustomization/" + s.namespace + "/apps"}
	if !toFlux {
		from, to = flux, helm
		move[4], move[5] = "--from-inventory=kustomization/"+s.namespace+"/apps", "--to-release="+s.namespace+"/web"
	}
	from(true)
	to(false)
	uid := s.uid(t)
	same := func(when string) {
		t.Helper()
		if got := s.uid(t); got != uid || uid == "" {
			t.Fatalf("%s: the UID is %q, want %q", when, got, uid)
		}
	}
	s.killed(t, kill, move...)
	flux(!toFlux) // Flux runs again with the sources as they were.
	same("Flux ran in between")
	if oldFirst {
		from(false)
		same("the old owner ran")
		to(true)
	} else {
		to(true)
		same("the new owner ran")
		from(false)
	}
	same("both ran")
	for range 2 { // Before, Helm could not import an object without its marks.
		e2etest.Plugin(t, s.KubeconfigPath, move...).Ends(t, 0)
		to(true)
	}
	if run := e2etest.Plugin(t, s.KubeconfigPath, move...).Ends(t, 0); strings.Contains(run.String(), "not finished") {
		t.Errorf("at the end: %s", run)
	}
	from(false)
	same("both ran again")
	if annotations := e2etest.Kubectl(t, s.Cluster, "get", "cm/moves", "-n", s.namespace, "-o", "jsonpath={.metadata.annotations}"); strings.Contains(annotations, "keep") || strings.Contains(annotations, "disabled") {
		t.Errorf("annotations: %s", annotations)
	}
	to(false)
	if got := s.uid(t); got != "" {
		t.Error("the new owner does not delete the object")
	}
}
