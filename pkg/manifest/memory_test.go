package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/heap"
)

// many writes a file with that many objects: some are hooks, some do not match app=a, some
// were copied from a server.
func many(t *testing.T, objects int) string {
	t.Helper()
	var text strings.Builder
	for i := range objects {
		metadata := map[int]string{0: `annotations: {helm.sh/hook: pre-install}`, 1: `uid: e7e7fdd6`, 2: `namespace: shop`}[i%50]
		fmt.Fprintf(&text, `apiVersion: v1
kind: ConfigMap
metadata:
  name: c%[1]d
  labels: {app: %[2]s, part: p%[1]d}
  %[3]s
data:
  a: some text of number %[1]d
  b: "line\nline\nline\n"
  c: "listen = 0.0.0.0:8080\nworkers = 4\nretries = %[1]d\n"
  version: "1"
---
`, i, map[bool]string{true: "b", false: "a"}[i%9 == 0], metadata)
	}
	name := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A large input that is packed has the same objects, hooks and warnings as one that is not.
func TestPackedInputIsTheSame(t *testing.T) {
	const objects = large + 1000
	o := Options{Filenames: []string{many(t, objects)}, Selector: "app=a"}
	want, err := Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Pack = true
	got, err := Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{want.Hooks, want.Warnings, len(want.Objects)}, []any{got.Hooks, got.Warnings, len(got.Objects)}); diff != "" {
		t.Fatalf("(-as it was +packed):\n%s", diff)
	}
	packed := 0
	for i, m := range got.Objects {
		was, u := want.Objects[i], m.Object
		if u == nil {
			packed++
			if u, err = m.Packed().Unpack(); err != nil {
				t.Fatal(err)
			}
		}
		before, after := []any{was.Source, was.Ref(), was.Object.Object}, []any{m.Source, m.Ref(), u.Object}
		if !reflect.DeepEqual(before, after) || m.Ref() != object.RefOf(u) {
			t.Errorf("%s (-as it was +packed):\n%s", m.Ref(), cmp.Diff(before, after))
		}
	}
	if packed == 0 {
		t.Error("no object is packed")
	}
}

// While manifests are decoded, none but the first few thousand are there as a tree of values:
// that was the peak of a run's memory.
func TestPackedInputIsSmall(t *testing.T) {
	const most = 1000 // bytes an object: its text, of some 250, its name, and its place in a list
	more := 10_000
	if testing.Short() {
		more = 3000
	}
	kept := func(objects int) int {
		name := many(t, objects)
		before := heap.Reachable()
		in, err := Read(t.Context(), Options{Filenames: []string{name}, Pack: true})
		if err != nil {
			t.Fatal(err)
		}
		after := heap.Reachable()
		runtime.KeepAlive(in)
		return after - before
	}
	if each := (kept(large+more) - kept(large)) / more; each > most || each <= 0 {
		t.Errorf("%d bytes are kept of each object, want at most %d", each, most)
	} else {
		t.Logf("%d bytes are kept of each object", each)
	}
}
