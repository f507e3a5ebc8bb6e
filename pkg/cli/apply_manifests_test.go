package cli

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// ordered prints the manifests of a file or folder in order, without a server.
func ordered(t *testing.T, path string) (code int, out, stderr string) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return call(t, "apply", "-f", path, "-R", "--skip-non-objects", "--skip-invalid", "--helm-hooks=apply",
		"--dry-run=client", "-o", "manifests")
}

// The printed manifests are those of the input and give the same plan when applied. Printed again,
// they give the same text, phase by phase.
func TestPrintedManifestsRoundTrip(t *testing.T) {
	for _, set := range manifestSets(t) {
		t.Run(filepath.Base(set), func(t *testing.T) {
			_, first, stderr := ordered(t, set)
			if !strings.HasPrefix(first, "# phase 1 of ") {
				t.Fatalf("no manifests: %s%s", first, stderr)
			}
			file := filepath.Join(t.TempDir(), "ordered.yaml")
			if err := os.WriteFile(file, []byte(first), 0o600); err != nil {
				t.Fatal(err)
			}
			code, second, stderr := ordered(t, file)
			if code != verb.ExitYes {
				t.Fatalf("exit status %d: %s", code, stderr)
			}
			if diff := gocmp.Diff(first, second); diff != "" {
				t.Errorf("again (-first +second):\n%s", diff)
			}
			in := map[string][]map[string]any{}
			for _, u := range decodeAll(t, set) {
				in[name(u)] = append(in[name(u)], written(u))
			}
			for _, u := range decodeAll(t, file) {
				i := slices.IndexFunc(in[name(u)], func(c map[string]any) bool { return reflect.DeepEqual(c, written(u)) })
				if i < 0 {
					t.Errorf("%s differs from the input", name(u))
					continue
				}
				in[name(u)] = slices.Delete(in[name(u)], i, i+1)
			}
		})
	}
}

// manifestSets are the folders of the corpus of real manifests, if it is there (not with -short),
// and our own samples.
func manifestSets(t *testing.T) []string {
	t.Helper()
	sets := []string{filepath.Join("..", "plan", "testdata", "network"), filepath.Join("testdata", "manifests")}
	if testing.Short() {
		return sets
	}
	corpus, err := filepath.Glob(filepath.Join(cmp.Or(os.Getenv("CORPUS"), "../../../shared/corpus"), "*", "SOURCE"))
	if err != nil {
		t.Fatal(err)
	}
	if len(corpus) == 0 {
		t.Log("no corpus here (CORPUS names its folder): running on the project's own samples")
	}
	for _, source := range corpus {
		if slices.Contains([]string{"argocd", "gateway-api", "kube-prometheus", "rook", "volcano"}, filepath.Base(filepath.Dir(source))) &&
			!circle.Of(false, false, true) {
			continue // These are the largest.
		}
		sets = append(sets, filepath.Dir(source))
	}
	return sets
}

// decodeAll reads all objects below a path with a YAML decoder that the plugin does not use.
func decodeAll(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for err == nil {
			var u unstructured.Unstructured
			if err = decoder.Decode(&u.Object); err == nil && u.IsList() {
				_ = u.EachListItem(func(o runtime.Object) error {
					all = append(all, o.(*unstructured.Unstructured))
					return nil
				})
			} else if err == nil && u.GetKind() != "" {
				all = append(all, &u)
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil // A file that is broken: reading it is another test's.
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func name(u *unstructured.Unstructured) string {
	return u.GroupVersionKind().GroupKind().String() + "/" + u.GetName()
}

// written returns an object without the fields that the plugin may add or remove: a namespace, and
// everything that a server writes.
func written(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(u.Object)
	delete(out, "status")
	out["metadata"] = map[string]any{"labels": u.GetLabels(), "finalizers": u.GetFinalizers()}
	return out
}

// Secrets are printed unmasked, since a masked Secret could not be applied. A warning says so.
func TestManifestsOfSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret.yaml")
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: correct-horse-battery}\n"
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := ordered(t, file)
	const want = "# phase 1 of 1, configuration: 1 object\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n  namespace: default\n" +
		"stringData:\n  password: correct-horse-battery\n"
	if diff := gocmp.Diff(want, out); diff != "" || code != verb.ExitYes {
		t.Errorf("exit status %d (-want +got):\n%s", code, diff)
	}
	if want := "warning: secret/db -n default: its values are printed unmasked\n"; stderr != want {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
}

// If no order allows the objects to be applied, nothing is printed, and nothing is reported as
// applied.
func TestManifestsRefused(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for name, test := range map[string]struct {
		args       []string
		text, want string
	}{
		"without a dry run":     {[]string{"-o", "manifests"}, "", "error: -o manifests prints manifests and applies nothing\n  hint: add --dry-run=client"},
		"dry run by the server": {[]string{"-o", "manifests", "--dry-run=server"}, "", "error: -o manifests prints"},
		"a cycle":               {[]string{"-o", "manifests", "--dry-run=client"}, dependent("a", "b") + "---\n" + dependent("b", "a"), "error: objects depend on each other in a cycle"},
		"-n":                    {[]string{"-o", "manifests", "--dry-run=client", "-n", "x"}, strings.Replace(dependent("a", "b"), "name: a", "name: a, namespace: other", 1), `namespace "other" in the manifest, but -n x`},
		"a take of an object that is not in the input": {[]string{"-o", "manifests", "--dry-run=client", "--take=deploy/web:.spec"}, dependent("a", "b"), "error: --take: no deploy/web in the input"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "in.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, stderr := call(t, append([]string{"apply", "-f", file}, test.args...)...)
			if code != verb.ExitUnknown || out != "" || !strings.Contains(stderr, test.want) {
				t.Errorf("exit status %d, stdout %q, stderr %q, want %q", code, out, stderr, test.want)
			}
		})
	}
}

func dependent(name, on string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name +
		", annotations: {config.kubernetes.io/depends-on: /namespaces/default/ConfigMap/" + on + "}}\n"
}
