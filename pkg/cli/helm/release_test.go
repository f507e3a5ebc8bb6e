package helm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helm"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
)

func secret(version, kind, data string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"type": kind, "metadata": map[string]any{"name": "v" + version, "labels": map[string]any{"version": version}},
		"data": map[string]any{"release": data},
	}}
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return twice(b.String())
}

func twice(text string) string {
	return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(text))))
}

// The tenth revision is newer than the ninth, and what only looks like a release is none.
func TestNewest(t *testing.T) {
	got := helm.Newest([]*unstructured.Unstructured{
		secret("9", helm.SecretType, ""), secret("10", helm.SecretType, ""), secret("11", "Opaque", ""), secret("x", helm.SecretType, ""),
	})
	if got == nil || got.GetName() != "v10" {
		t.Errorf("%v", got)
	}
	if helm.Newest(nil) != nil {
		t.Error("there is none")
	}
}

func TestDecode(t *testing.T) {
	const text = `{"name": "web", "namespace": "shop", "version": 3, "manifest": "---\nkind: X\n", "info": {"status": "failed"}}`
	for name, data := range map[string]string{"compressed": packed(t, text), "as it was in the beginning": twice(text)} {
		got, err := helm.Decode(secret("3", helm.SecretType, data))
		if err != nil || got.Name != "web" || got.Namespace != "shop" || got.Version != 3 || !strings.Contains(got.Manifest, "kind: X") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// What is broken is said without what is in it, which may be secret.
func TestDecodeBroken(t *testing.T) {
	whole := packed(t, `{"name": "web"}`)
	for name, data := range map[string]string{
		"no base64":     "%",
		"half of it":    base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte("\x1f\x8bhunter2")))),
		"no JSON":       twice("hunter2"),
		"one layer":     base64.StdEncoding.EncodeToString([]byte("hunter2 is no base64")),
		"cut off":       whole[:len(whole)/2/4*4],
		"a gzip bomb":   packed(t, strings.Repeat(" ", 65<<20)),
		"nothing in it": "",
	} {
		if got, err := helm.Decode(secret("1", helm.SecretType, data)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := helm.Decode(&unstructured.Unstructured{Object: map[string]any{}}); err == nil {
		t.Error("there is no release in it")
	}
	// It says which of the Secrets it is, and what to do meanwhile.
	broken := secret("3", helm.SecretType, "")
	broken.SetNamespace("shop")
	broken.SetLabels(map[string]string{"name": "web", "version": "3"})
	_, err := helm.Decode(broken)
	var hinter interface{ Hint() string }
	if want := "revision 3 (secret/v3 -n shop) cannot be read: it is empty"; err == nil || err.Error() != want || !errors.As(err, &hinter) ||
		!strings.Contains(command.Fill(hinter.Hint(), command.Flags{}), "helm get manifest web -n shop --revision=N | kubectl k8sconnect give -n shop -f - --to=helm") {
		t.Errorf("%v", err)
	}
}
