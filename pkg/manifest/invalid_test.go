package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A folder may also contain a dashboard, the configuration of a tool, an object without a name, or
// invalid YAML. All valid objects in the folder are read nevertheless.
func TestSkipInvalid(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml":         configMap("a"),
		"dashboard.json": `{"title": "x", "panels": []}`,
		"job.yaml":       "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: once-\n---\n" + configMap("b"),
		"kind.yaml":      "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\nnodes: []\n",
		"tab.yaml":       "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: c\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name, text string) string { return filepath.Join(dir, name) + text }
	want := []string{
		at("dashboard.json", ":1: not a Kubernetes object but a document without apiVersion, kind, metadata"),
		at("job.yaml", ":4: Job: generateName without a name: apply needs a name to identify the object"),
		at("kind.yaml", ":1: not a Kubernetes object but a configuration file (Cluster of kind.x-k8s.io/v1alpha4)"),
		at("tab.yaml", ":4: not YAML: found character that cannot start any token"),
	}

	in, err := Read(t.Context(), Options{Filenames: []string{dir}})
	if diff := cmp.Diff(want, joined(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if len(in.Objects) != 2 {
		t.Errorf("got %d valid objects besides the errors, want 2", len(in.Objects))
	}

	in, err = Read(t.Context(), Options{Filenames: []string{dir}, SkipInvalid: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(in.Invalid)); diff != "" || len(in.Objects) != 2 {
		t.Errorf("got %d objects, want 2; skipped (-want +got):\n%s", len(in.Objects), diff)
	}

	// A file that cannot be read is not skipped, because it may contain any object.
	if _, err = Read(t.Context(), Options{Filenames: []string{dir, dir + "/none.yaml"}, SkipInvalid: true}); err == nil {
		t.Error("no error for a file that is not there")
	}

	// SkipNonObjects also skips the configuration of the tool.
	in, _ = Read(t.Context(), Options{Filenames: []string{dir}, SkipNonObjects: true, SkipInvalid: true})
	if len(in.Skipped) != 2 || len(in.Invalid) != 2 {
		t.Errorf("skipped %d, invalid %d, want 2 of each", len(in.Skipped), len(in.Invalid))
	}
}

func joined(err error) []string {
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		return texts([]error{err})
	}
	var out []string
	for _, one := range all.Unwrap() {
		out = append(out, joined(one)...)
	}
	return out
}

func texts(errs []error) []string {
	var out []string
	for _, err := range errs {
		if err != nil {
			out = append(out, err.Error())
		}
	}
	return out
}
