package inventory_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
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

// The tenth revision is newer than the ninth. Secrets that only look like a release are ignored.
// Helm compares the next upgrade with the deployed revision, or else with the last one.
func TestStored(t *testing.T) {
	status := func(s string, u *unstructured.Unstructured) *unstructured.Unstructured {
		labels := u.GetLabels()
		labels["status"] = s
		u.SetLabels(labels)
		return u
	}
	release := func(version string) *unstructured.Unstructured { return secret(version, inventory.SecretType, "") }
	for name, tt := range map[string]struct {
		stored     []*unstructured.Unstructured
		last, base string
	}{
		"failed only":               {[]*unstructured.Unstructured{status("failed", release("9")), status("failed", release("10"))}, "v10", "v10"},
		"one deployed":              {[]*unstructured.Unstructured{status("failed", release("10")), status("deployed", release("9")), status("superseded", release("8"))}, "v10", "v9"},
		"two deployed after a race": {[]*unstructured.Unstructured{status("deployed", release("9")), status("deployed", release("10"))}, "v10", "v10"},
		"look-alikes":               {[]*unstructured.Unstructured{release("1"), secret("2", "Opaque", ""), release("x")}, "v1", "v1"},
	} {
		all := inventory.Stored{}
		for _, u := range tt.stored {
			all.Add(u)
		}
		got, found := all[inventory.StoredRelease{Driver: inventory.InSecrets}]
		if !found || got.Last.GetName() != tt.last || got.Base().GetName() != tt.base {
			t.Errorf("%s: last %v, base %v", name, got.Last, got.Base())
		}
	}
}

// Helm can store releases in ConfigMaps, whose values are not base64 in JSON.
func TestDecodeConfigMap(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "metadata": map[string]any{"name": "v1", "labels": map[string]any{"version": "1", "name": "web"}},
		"data": map[string]any{"release": base64.StdEncoding.EncodeToString([]byte(`{"name": "web", "namespace": "shop", "manifest": "kind: X"}`))},
	}}
	got, err := inventory.Decode(u)
	if err != nil || got.Name != "web" {
		t.Errorf("%+v, %v", got, err)
	}
	u.Object["data"] = map[string]any{"release": "!"}
	if _, err := inventory.Decode(u); err == nil || !strings.HasPrefix(err.Error(), "revision 1 (configmap/v1 ") {
		t.Errorf("%v", err)
	}
}

func TestDecode(t *testing.T) {
	const text = `{"name": "web", "namespace": "shop", "version": 3, "manifest": "---\nkind: X\n", "info": {"status": "failed"}}`
	for name, data := range map[string]string{"compressed": packed(t, text), "as it was in the beginning": twice(text)} {
		got, err := inventory.Decode(secret("3", inventory.SecretType, data))
		if err != nil || got.Name != "web" || got.Namespace != "shop" || got.Version != 3 || !strings.Contains(got.Manifest, "kind: X") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// unzipped returns the compressed content of a Secret, without the encoding around it.
func unzipped(t *testing.T, packed string) string {
	t.Helper()
	inner, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(string(inner))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// flipped returns a copy with one byte changed, in base64 as Helm writes it.
func flipped(t *testing.T, packed string) string {
	t.Helper()
	raw := []byte(unzipped(t, packed))
	raw[len(raw)-6] ^= 0xff // in the checksum
	return base64.StdEncoding.EncodeToString(raw)
}

// A revision that Helm has not finished is used, with a warning, and so is an uninstalled one.
func TestCaution(t *testing.T) {
	for status, want := range map[string]string{
		"deployed": "", "failed": "", "superseded": "", "": "",
		"pending-upgrade":  "Helm has not finished revision 4 (pending-upgrade), so some objects may match an earlier revision",
		"pending-rollback": "Helm has not finished revision 4 (pending-rollback), so some objects may match an earlier revision",
		"uninstalled":      "revision 4 is uninstalled, so its objects may be gone",
		"uninstalling":     "revision 4 is uninstalling, so its objects may be gone",
	} {
		got, err := inventory.Decode(secret("4", inventory.SecretType, packed(t, `{"name": "web", "namespace": "shop", "version": 4, "manifest": "a", "info": {"status": "`+status+`"}}`)))
		if err != nil || got.Caution() != want {
			t.Errorf("%q: %q, %v", status, got.Caution(), err)
		}
	}
	other := secret("4", inventory.SecretType, packed(t, `{"name": "web", "namespace": "shop", "manifest": "a"}`))
	other.SetLabels(map[string]string{"name": "shop", "version": "4"})
	if _, err := inventory.Decode(other); err == nil || !strings.Contains(err.Error(), `another release: "web"`) {
		t.Errorf("%v", err)
	}
}

// A broken release is reported without its contents, which may be secret.
func TestDecodeBroken(t *testing.T) {
	whole := packed(t, `{"name": "web"}`)
	for name, data := range map[string]string{
		"no base64":                   "%",
		"broken gzip data":            base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte("\x1f\x8bhunter2")))),
		"no JSON":                     twice("hunter2"),
		"encoded only once":           base64.StdEncoding.EncodeToString([]byte("hunter2 is no base64")),
		"cut off":                     whole[:len(whole)/2/4*4],
		"a gzip bomb":                 packed(t, strings.Repeat(" ", 65<<20)),
		"nothing in it":               "",
		"cut off at the end":          twice(unzipped(t, whole)[:20]),
		"a byte that is wrong":        base64.StdEncoding.EncodeToString([]byte(flipped(t, whole))),
		"a JSON list":                 packed(t, `["hunter2"]`),
		"null":                        packed(t, "null"),
		"no manifest":                 packed(t, `{"name": "web", "namespace": "shop", "manifest": " "}`),
		"no namespace":                packed(t, `{"name": "web", "manifest": "kind: hunter2"}`),
		"a manifest that is a number": packed(t, `{"name": "web", "namespace": "shop", "manifest": 1}`),
	} {
		if got, err := inventory.Decode(secret("1", inventory.SecretType, data)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := inventory.Decode(&unstructured.Unstructured{Object: map[string]any{}}); err == nil {
		t.Error("Decode of an object without a release returned no error")
	}
	// The error names the Secret and an alternative.
	broken := secret("3", inventory.SecretType, "")
	broken.SetNamespace("shop")
	broken.SetLabels(map[string]string{"name": "web", "version": "3"})
	_, err := inventory.Decode(broken)
	var hinter interface{ Hint() string }
	if want := "revision 3 (secret/v3 -n shop) cannot be read: it is empty"; err == nil || err.Error() != want || !errors.As(err, &hinter) ||
		!strings.Contains(hinter.Hint(), "helm history web -n shop") {
		t.Errorf("%v", err)
	}
}
