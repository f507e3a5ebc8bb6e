package e2e_test

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// variants distributes a set's files over folders so that no folder contains an object twice, which
// is an error. Examples and flavours are then applied one after the other, definitions and
// namespaces first. Files with bad input are reported as such.
func (s corpusSet) variants(t *testing.T, c *cluster.Cluster, dir string) []string {
	t.Helper()
	var files []setFile
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		for end, says := range s.unreadable {
			if strings.HasSuffix(path, end) {
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", path).Ends(t, 2).Says(t, path+says)
				return nil
			}
		}
		if s.without[strings.TrimPrefix(path, dir+string(filepath.Separator))] == "" {
			files = append(files, readSetFile(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(files, func(a, b setFile) int { return cmp.Compare(a.rank, b.rank) })
	var folders []string
	var taken []map[object.Key]bool
	for _, f := range files {
		i := slices.IndexFunc(taken, func(t map[object.Key]bool) bool { return !overlap(t, f.keys) })
		if i < 0 {
			i = len(taken)
			taken, folders = append(taken, map[object.Key]bool{}), append(folders, t.TempDir())
		}
		maps.Copy(taken[i], f.keys)
		name := strings.ReplaceAll(strings.TrimPrefix(f.path, dir), string(filepath.Separator), "_")
		if err := os.Symlink(f.path, filepath.Join(folders[i], strings.TrimPrefix(name, "_"))); err != nil {
			t.Fatal(err)
		}
	}
	return folders
}

// setFile is a file of a set. Files with definitions or namespaces have a lower rank.
type setFile struct {
	path string
	keys map[object.Key]bool
	rank int
}

func readSetFile(path string) setFile {
	var m manifests
	m.read(path)
	f := setFile{path: path, keys: keysOf(m.objects), rank: 1}
	if slices.ContainsFunc(m.objects, func(u *unstructured.Unstructured) bool { return rank(u) < 2 }) {
		f.rank = 0
	}
	return f
}

func keysOf(objects []*unstructured.Unstructured) map[object.Key]bool {
	keys := map[object.Key]bool{}
	for _, u := range objects {
		key := object.RefOf(u).Key()
		key.Namespace = cmp.Or(key.Namespace, "default")
		keys[key] = true
	}
	return keys
}

func overlap(a, b map[object.Key]bool) bool {
	for key := range b {
		if a[key] {
			return true
		}
	}
	return false
}
