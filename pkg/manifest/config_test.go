package manifest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
)

// The config file of k8sconnect in a folder is ignored. If a file of that name contains an object,
// the object is read.
func TestConfigFileIsNotAManifest(t *testing.T) {
	for text, want := range map[string]int{
		"yield: [{path: .spec}]\n":                               1,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n": 2,
	} {
		folder := t.TempDir()
		for name, text := range map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", manifest.ConfigFile: text} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := manifest.Read(t.Context(), manifest.Options{Filenames: []string{folder}})
		if err != nil || len(got.Objects) != want || len(got.Skipped) > 0 {
			t.Errorf("%q: %d objects, skipped %v, %v", text, len(got.Objects), got.Skipped, err)
		}
	}
}
