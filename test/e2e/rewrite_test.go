package e2e_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// rewriter is a mutating webhook that changes the data of ConfigMaps as they are
// written.
type rewriter struct {
	*httptest.Server
	calls atomic.Int64
}

// newRewriter starts a webhook in which rewrite returns the new data.image, given its value and the
// number of the call.
func newRewriter(t *testing.T, rewrite func(image string, call int64) string) *rewriter {
	w := &rewriter{}
	w.Server = httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		var review struct {
			Request struct {
				UID    string
				Object struct{ Data map[string]string }
			}
		}
		if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		answer := map[string]any{"uid": review.Request.UID, "allowed": true}
		if image, ok := review.Request.Object.Data["image"]; ok {
			answer["patchType"] = "JSONPatch"
			answer["patch"] = fmt.Appendf(nil, `[{"op":"replace","path":"/data/image","value":%q}]`, rewrite(image, w.calls.Add(1)))
		}
		_ = json.NewEncoder(out).Encode(map[string]any{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer,
		})
	}))
	t.Cleanup(w.Close)
	return w
}

// install registers the webhook for the ConfigMaps of a namespace.
func (w *rewriter) install(t *testing.T, c *cluster.Cluster, api *server, namespace string) {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "MutatingWebhookConfiguration",
		"metadata":   map[string]any{"name": namespace},
		"webhooks": []any{map[string]any{
			"name":                    "rewrite.example.com",
			"clientConfig":            map[string]any{"url": w.URL, "caBundle": ca},
			"sideEffects":             "None",
			"admissionReviewVersions": []any{"v1"},
			"rules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"},
				"operations": []any{"CREATE", "UPDATE"},
			}},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": namespace}},
		}},
	}}
	text, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &u.Object); err != nil { // encoded as base64
		t.Fatal(err)
	}
	if _, err := api.apply(t.Context(), u, "setup", true, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command(c.Binary("kubectl"), "--kubeconfig", c.KubeconfigPath, "delete", "mutatingwebhookconfiguration", namespace).Run()
	})
	// The API server notices the webhook a moment later.
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"image": "probe"},
		"metadata": map[string]any{"name": "probe", "namespace": namespace},
	}}
	e2etest.Until(t, "the API server calls the webhook", func() bool {
		if _, err := api.apply(t.Context(), probe, "setup", true, true); err != nil {
			t.Fatal(err)
		}
		return w.calls.Load() > 0
	})
}

// call runs the plugin on a ConfigMap with that image.
func (w *rewriter) call(t *testing.T, c *cluster.Cluster, namespace, image string, args ...string) (status int, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app.yaml")
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {image: \"" + image + "\", own: a}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var both bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &both, ErrOut: &both}
	args = append([]string{"kubectl-k8sconnect"}, append(args,
		"-f", file, "-n", namespace, "--kubeconfig", c.KubeconfigPath, "--cache-dir", filepath.Dir(file))...)
	return cli.Main(t.Context(), args, streams), both.String()
}

// Edge case 15: the server records the value that a webhook rewrote under our name, so it differs
// from the manifest forever. Each run reports that, it is not a difference, and nothing loops.
func TestWebhookRewritesValue(t *testing.T) {
	t.Parallel() // uses only its own namespace
	c := shared.Cluster(t)
	c.OwnOnly(t)
	api, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	namespace := e2etest.Namespace(t, c)
	w := newRewriter(t, func(image string, _ int64) string {
		return "mirror.example/" + strings.TrimPrefix(image, "mirror.example/")
	})
	w.install(t, c, api, namespace)

	expect := func(want int, says string, status int, out string) {
		t.Helper()
		if status != want || !strings.Contains(out, says) {
			t.Errorf("exit status %d, want %d and %q:\n%s", status, want, says, out)
		}
	}
	const rewritten = `.data.image is "mirror.example/app:1", not "app:1": something in the cluster rewrites it`
	call := func(image string, args ...string) (int, string) { return w.call(t, c, namespace, image, args...) }

	status, out := call("app:1", "apply")
	expect(0, "1 created", status, out)
	expect(0, rewritten, status, out)
	status, out = call("app:1", "diff")
	expect(0, "1 unchanged", status, out)
	expect(0, rewritten, status, out)
	status, out = call("app:1", "apply")
	expect(0, "1 unchanged", status, out)
	expect(0, rewritten, status, out)

	// A different value stays different after rewriting.
	status, out = call("app:2", "diff")
	expect(1, "+  image: mirror.example/app:2", status, out)
	status, out = call("app:2", "apply")
	expect(0, "1 configured", status, out)

	// Two managers that apply the same value share the field: neither takes it by a value that the
	// webhook makes equal.
	status, out = call("app:2", "apply", "--field-manager=other")
	expect(0, "1 shared", status, out)
	status, out = call("app:2", "apply")
	expect(0, "1 unchanged", status, out)
	status, out = call("app:3", "diff")
	expect(1, "# contested  .data.image  owned by other (Apply", status, out)
	status, out = call("app:3", "apply")
	expect(1, "live mirror.example/app:2  other (Apply)", status, out)
	if strings.Contains(out, "keeps changing") {
		t.Errorf("a conflict is reported as a value that keeps changing:\n%s", out)
	}
	// Yielding gives up a shared field once.
	status, out = call("app:2", "apply", "--yield=.data.image")
	expect(0, "kept     .data.image  by other", status, out)
	status, out = call("app:2", "apply", "--yield=.data.image")
	expect(0, "1 unchanged", status, out)
}

// Values that a webhook rewrites are not sent again in each run: dry runs show that nothing would
// change. A run that changes many objects in earnest sends only a few dry runs (edge case 15).
func TestRewrittenValuesAreNotSentAgain(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	api, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ns := e2etest.Namespace(t, c)
	newRewriter(t, func(image string, _ int64) string {
		return "mirror.example/" + strings.TrimPrefix(image, "mirror.example/")
	}).install(t, c, api, ns)
	const objects, most = 40, 16
	set := func(image string) string {
		return e2etest.File(t, strings.ReplaceAll(e2etest.ConfigMaps(objects, 1, image), "value:", "image:"))
	}
	dryRuns := func() int {
		n := 0
		for _, r := range p.Requests() {
			if strings.Contains(r.URI, "dryRun=All") {
				n++
			}
		}
		return n
	}
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set("app:1")).Ends(t, 0).Says(t, "40 created")
	before := e2etest.Written(p)
	const message = `warning: the cluster stores 40 values of the input differently (40 objects): ` +
		`configmap/cm-0000 -n NS: .data.image is "mirror.example/app:1", not "app:1"; `
	for _, verb := range []string{"apply", "diff"} {
		r := e2etest.Plugin(t, kubeconfig, verb, "-n", ns, "-f", set("app:1")).Ends(t, 0).Says(t, "40 unchanged")
		if n := e2etest.Written(p) - before; n != 0 {
			t.Errorf("%d writes in an unchanged run: %s", n, r)
		}
		if text := r.Stderr.String(); !strings.Contains(text, strings.ReplaceAll(message, "NS", ns)) || strings.Count(text, "warning: ") != 1 {
			t.Errorf("%s does not say in one line what the cluster stores differently: %s", verb, r)
		}
	}
	before, tried := e2etest.Written(p), dryRuns()
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set("app:2")).Ends(t, 0).Says(t, "40 configured")
	if n := e2etest.Written(p) - before; n != objects {
		t.Errorf("%d writes for %d changed objects", n, objects)
	}
	if n := dryRuns() - tried; n > most {
		t.Errorf("%d dry runs before %d writes, want at most %d", n, objects, most)
	}
}

// A webhook that never writes the same value twice does not make runs wait: each ends and reports
// the cause.
func TestWebhookNeverSettles(t *testing.T) {
	t.Parallel() // uses only its own namespace
	c := shared.Cluster(t)
	c.OwnOnly(t)
	api, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	namespace := e2etest.Namespace(t, c)
	w := newRewriter(t, func(_ string, call int64) string { return fmt.Sprint("call-", call) })
	w.install(t, c, api, namespace)
	for _, verb := range []string{"apply", "diff", "apply", "diff"} {
		before := w.calls.Load()
		status, out := w.call(t, c, namespace, "app:1", verb)
		if want := map[string]int{"apply": 0, "diff": 1}[verb]; status != want {
			t.Errorf("%s: exit status %d, want %d:\n%s", verb, status, want, out)
		}
		if verb == "apply" && !strings.Contains(out, "something in the cluster rewrites it") {
			t.Errorf("apply does not report that the value is rewritten:\n%s", out)
		}
		if calls := w.calls.Load() - before; calls > 4 {
			t.Errorf("%s: %d requests for one object, want at most 4", verb, calls)
		}
	}
}
