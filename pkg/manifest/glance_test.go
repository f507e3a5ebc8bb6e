package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// refsOf are the references of manifests, sorted.
func refsOf(manifests []object.Manifest) []string {
	var refs []string
	for _, m := range manifests {
		refs = append(refs, m.Ref().GVK.String()+" "+m.Ref().Namespace+"/"+m.Ref().Name)
	}
	slices.Sort(refs)
	return refs
}

// A caller is told of a large input alone, before it is decoded, and reads the same with it.
func TestGlanceOfALargeInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(filenames ...string) (found, told []object.Manifest) {
		t.Helper()
		o := Options{Filenames: filenames, In: strings.NewReader("kind: Pod\napiVersion: v1\nmetadata:\n  name: c\n")}
		o.Glance = func(all []object.Manifest) {
			if found != nil {
				t.Error("told after it was decoded")
			}
			told = all
		}
		result, err := Read(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return result.Objects, told
	}
	write("a.yaml", "kind: Pod\napiVersion: v1\nmetadata:\n  name: a\n")
	if _, told := read(dir); told != nil {
		t.Errorf("told of a small input: %v", refsOf(told))
	}
	write("b.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: b\ndata:\n  x: "+strings.Repeat("x", worthGlance)+"\n")
	found, told := read(dir)
	if diff := cmp.Diff(refsOf(found), refsOf(told)); diff != "" {
		t.Errorf("(-found +told):\n%s", diff)
	}
	if _, told := read(dir, "-"); told != nil {
		t.Errorf("told although standard input may be silent: %v", refsOf(told))
	}
}

// Of real sets, a glance finds every object that is not a hook, and nothing else.
func TestGlanceAtCorpus(t *testing.T) {
	dir := corpus(t)
	seen, unseen := 0, 0
	for _, set := range []string{"argocd", "cilium-1.18", "flux-2.4.0", "gateway-api", "hcloud-csi", "kube-prometheus", "metallb", "microservices-demo", "rook", "volcano"} {
		var told []object.Manifest
		result, err := Read(t.Context(), Options{
			Filenames: []string{filepath.Join(dir, set)}, Recursive: true, SkipInvalid: true, SkipNonObjects: true,
			Glance: func(all []object.Manifest) { told = all },
		})
		if err != nil {
			t.Fatal(err)
		}
		if told == nil {
			t.Logf("%s is small", set)
			continue
		}
		saw := refsOf(told)
		for _, ref := range refsOf(result.Objects) {
			if _, found := slices.BinarySearch(saw, ref); found {
				seen++
				continue
			}
			t.Logf("%s: not seen: %s", set, ref)
			unseen++
		}
		is := refsOf(result.Objects)
		for _, ref := range saw {
			if _, found := slices.BinarySearch(is, ref); !found {
				t.Errorf("%s: %s is none", set, ref)
			}
		}
	}
	if seen < 500 || unseen > 0 {
		t.Errorf("%d objects were seen, and %d were not", seen, unseen)
	}
}
