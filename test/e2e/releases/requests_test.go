package releases_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
)

// Forty releases cost two lists of Secrets and of ConfigMaps for the releases, one list for each kind
// of their objects, one dry run for each object in which another owner has a declared field, and another one, by
// force, if that finds a conflict. The
// releases of both kinds of storage are found.
func TestRequests(t *testing.T) {
	s := newSite(t, "requests")
	const n = 40
	for i := range n {
		name := fmt.Sprintf("r%02d", i)
		marks := fmt.Sprintf("labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: %s, meta.helm.sh/release-namespace: requests}", name)
		objects := []string{
			fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, %s}, data: {a: b}}", name, marks),
			fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, %s}, automountServiceAccountToken: false}", name, marks),
		}
		s.apply(t, gvr("", "v1", "configmaps"), "helm", objects[0])
		s.apply(t, gvr("", "v1", "serviceaccounts"), "helm", objects[1])
		s.store(t, name, i%2 == 0, strings.Join(objects, "\n---\n"))
	}
	for _, edit := range []struct{ name, patch string }{{"r03", `{"data": {"a": "c"}}`}, {"r04", `{"data": {"human": "c"}}`}} {
		_, err := s.of(gvr("", "v1", "configmaps")).Patch(t.Context(), edit.name, types.MergePatchType, []byte(edit.patch), metav1.PatchOptions{FieldManager: "kubectl-edit"})
		if err != nil {
			t.Fatal(err)
		}
	}
	streams, _, words, _ := genericiooptions.NewTestIOStreams()
	cli.Main(t.Context(), []string{"kubectl-k8sconnect", "__complete", "releases", "-n", s.namespace, "--kubeconfig=" + s.KubeconfigPath, "--cache-dir=" + t.TempDir(), ""}, streams)
	if !strings.HasPrefix(words.String(), "r00\nr01\nr02\n") {
		t.Errorf("completion: %s", words)
	}
	s.OwnOnly(t)
	p, err := s.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	direct := s.KubeconfigPath
	if s.KubeconfigPath, err = s.Kubeconfig(p.URL()); err != nil {
		t.Fatal(err)
	}
	defer func() { s.KubeconfigPath = direct }()
	status, all, text := s.forecasts(t)
	if status != 1 || len(all) != n {
		t.Fatalf("exit status %d, %d releases, want %d:\n%s", status, len(all), n, text)
	}
	for _, f := range all {
		want := "ready"
		if f.Name == "r03" {
			want = "fails"
		}
		if f.Forecast != want || f.Objects != 2 {
			t.Errorf("%+v, want %s", f, want)
		}
	}
	const in = "/api/v1/namespaces/requests/"
	for what, count := range map[string][2]int{
		"lists of Secrets":         {p.Count(http.MethodGet, in+"secrets"), 2},
		"lists of ConfigMaps":      {p.Count(http.MethodGet, in+"configmaps"), 3},
		"lists of ServiceAccounts": {p.Count(http.MethodGet, in+"serviceaccounts"), 1},
		"dry runs":                 {p.Count(http.MethodPatch, "/"), 2},
	} {
		if count[0] != count[1] {
			t.Errorf("%d %s, want %d", count[0], what, count[1])
		}
	}
}

// store stores a release as Helm does.
func (s *site) store(t *testing.T, name string, inSecret bool, manifest string) {
	t.Helper()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := fmt.Fprintf(w, `{"name": %q, "namespace": %q, "version": 1, "apply_method": "ssa", "info": {"status": "deployed"}, "manifest": %q}`, name, s.namespace, manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const meta = "metadata: {name: sh.helm.release.v1.%s.v1, labels: {owner: helm, name: %s, status: deployed, version: '1'}}"
	text := base64.StdEncoding.EncodeToString(zipped.Bytes())
	if inSecret {
		s.apply(t, gvr("", "v1", "secrets"), "helm", fmt.Sprintf("{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, "+meta+", stringData: {release: %s}}", name, name, text))
		return
	}
	s.apply(t, gvr("", "v1", "configmaps"), "helm", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, "+meta+", data: {release: %s}}", name, name, text))
}
