package manifest_test

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
)

// corpus returns the folder of real manifests, or skips the test where there is
// none: it is not part of the project. testdata has samples for each trap.
func corpus(t testing.TB) string {
	t.Helper()
	dir := cmp.Or(os.Getenv("CORPUS"), "../../../shared/corpus")
	if _, err := os.Stat(filepath.Join(dir, "INDEX.md")); err != nil {
		t.Skipf("no corpus of real manifests at %s; set CORPUS. Only our own samples are read", dir)
	}
	return dir
}

// The numbers of objects are those that a real API server was given.
func TestCorpus(t *testing.T) {
	dir := corpus(t)
	for set, want := range map[string]struct{ objects, skipped, warnings int }{
		"argocd":             {objects: 59},
		"cert-manager-crds":  {objects: 6},
		"cilium-1.18":        {objects: 12},
		"deprecated":         {objects: 86},
		"flux-2.4.0":         {objects: 91},
		"gateway-api":        {objects: 121},
		"hcloud-ccm":         {objects: 8},
		"hcloud-csi":         {objects: 11},
		"k8zner-crd":         {objects: 1},
		"kops-hetzner":       {objects: 43},
		"kube-prometheus":    {objects: 131},
		"microservices-demo": {objects: 35},
	} {
		t.Run(set, func(t *testing.T) {
			got, err := manifest.Read(t.Context(), manifest.Options{
				Filenames: []string{filepath.Join(dir, set)}, Recursive: true, SkipNonObjects: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Objects) != want.objects {
				t.Errorf("%d objects, want %d", len(got.Objects), want.objects)
			}
			for _, w := range got.Warnings {
				t.Logf("%v %v %s", w.Ref, w.Source, w.Text)
			}
			for _, w := range got.Skipped {
				t.Logf("skipped %+v", w)
			}
		})
	}
}
