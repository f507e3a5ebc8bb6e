package manifest_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
)

const configMapHead = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n"

// bombs are small texts with exploding aliases. The key is the line to report.
var bombs = map[string]struct {
	text string
	line string
}{
	"many aliases of one text": {
		configMapHead + "x: &x " + strings.Repeat("a", 100_000) + "\ndata: [" + strings.Repeat("*x,", 20_000) + "]\n", ":5",
	},
	"aliases of aliases": {
		configMapHead + "a: &a [b, b, b, b, b, b, b, b, b]\n" + layers("abcdefghij", 9), ":13",
	},
	"merged maps": {
		configMapHead + "x: &x {y: " + strings.Repeat("a", 100_000) + "}\ndata:\n" + strings.Repeat("- {<<: *x, z: 1}\n", 2000), "",
	},
	"an alias of a map that contains it": {
		configMapHead + "data: &x {a: [*x, *x]}\n", "",
	},
}

// layers returns one list for each name. Each list contains n aliases of the previous list.
func layers(names string, n int) string {
	var b strings.Builder
	for i := 1; i < len(names); i++ {
		b.WriteString(names[i:i+1] + ": &" + names[i:i+1] + " [" + strings.Repeat("*"+names[i-1:i]+", ", n) + "]\n")
	}
	return b.String()
}

// Edge case 93: the size of aliases is limited before they are expanded. The test counts
// allocations, which do not depend on the machine's speed.
func TestAliasesAreBounded(t *testing.T) {
	for name, bomb := range bombs {
		for _, kustomized := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "bomb.yaml"), bomb.text)
				o := manifest.Options{Filenames: []string{filepath.Join(dir, "bomb.yaml")}}
				if kustomized {
					write(t, filepath.Join(dir, "kustomization.yaml"), "resources: [bomb.yaml]\n")
					o = manifest.Options{Kustomize: dir}
				}
				_, allocated, err := readCounted(t.Context(), o)
				const most = 64 << 20
				switch {
				case err == nil:
					t.Fatal("no error, although the aliases are too large")
				case !strings.Contains(err.Error(), "bomb.yaml"+bomb.line):
					t.Errorf("the error does not name the line: %.300s", err)
				case allocated > most:
					t.Errorf("%d MiB were allocated", allocated>>20)
				}
			})
		}
	}
}

// The limit also applies to all documents together, even if each document is within its own limit.
func TestAliasesOfAllDocumentsAreBounded(t *testing.T) {
	one := configMapHead + "x: &x " + strings.Repeat("a", 4000) + "\ndata: [" + strings.Repeat("*x,", 900) + "]\n---\n"
	dir := t.TempDir()
	write(t, filepath.Join(dir, "many.yaml"), strings.Repeat(one, 100))
	_, _, err := readCounted(t.Context(), manifest.Options{Filenames: []string{dir}})
	if err == nil || !strings.Contains(err.Error(), "the whole input") {
		t.Errorf("got %.300v", err)
	}
}

// Real input is accepted: a CRD of 1.9 MB, and anchors that save some typing.
func TestLargeAndAliasedObjectsAreRead(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "large.yaml"), "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec:\n"+
		strings.Repeat("- {description: 'all & sundry, 2 * 3', type: string}\n", 1_900_000/52))
	write(t, filepath.Join(dir, "aliased.yaml"), configMapHead+"x: &x "+strings.Repeat("a", 10_000)+"\ndata: ["+strings.Repeat("*x,", 200)+"]\n")
	result, _, err := readCounted(t.Context(), manifest.Options{Filenames: []string{dir}})
	if err != nil || len(result.Objects) != 2 {
		t.Errorf("%d objects, %v", len(result.Objects), err)
	}
}

func readCounted(ctx context.Context, o manifest.Options) (manifest.Result, uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, err := manifest.Read(ctx, o)
	runtime.ReadMemStats(&after)
	return result, after.TotalAlloc - before.TotalAlloc, err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
