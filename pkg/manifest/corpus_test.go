package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// corpus returns the folder of real manifests. It skips the test if the folder does not exist,
// because it is not part of the project. Other tests cover each special case in these manifests.
func corpus(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in short mode; other tests cover each special case of the corpus")
	}
	dir := os.Getenv("CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	if _, err := os.Stat(filepath.Join(dir, "INDEX.md")); err != nil {
		t.Skipf("no corpus of real manifests at %s; set CORPUS. Only our own samples are read", dir)
	}
	return dir
}

// The numbers count the objects that were sent to a real API server, without the documents that
// cannot be applied.
func TestCorpus(t *testing.T) {
	dir := corpus(t)
	for set, want := range map[string]struct {
		objects, warnings int
		faults            []string // without the folder
	}{
		"argocd":            {objects: 59},
		"cert-manager-crds": {objects: 6},
		"cilium-1.18":       {objects: 12},
		"deprecated": {objects: 80, warnings: 4, faults: []string{
			`examples/persistent-volume-provisioning/quobyte/quobyte-admin-secret.yaml:9: duplicate key "type" (first at line 5)`,
			"kube-no-trouble/localsubjectaccessreview-v1beta1.yaml:3: LocalSubjectAccessReview: .metadata is missing",
			"kube-no-trouble/selfsubjectaccessreview-v1beta1.yaml:3: SelfSubjectAccessReview: .metadata is missing",
			"kube-no-trouble/subjectaccessreview-v1beta1.yaml:3: SubjectAccessReview: .metadata is missing",
			"kube-no-trouble/tokenreview-v1beta1.yaml:3: TokenReview: .metadata is missing",
			"kube-no-trouble/volumesnapshotcontent-v1beta1.yaml:5: volumesnapshotcontent.snapshot.storage.k8s.io/new-snapshot-content-test: .metadata.annotations is a list, not a mapping",
		}},
		"flux-2.4.0":         {objects: 91},
		"gateway-api":        {objects: 121},
		"hcloud-ccm":         {objects: 8},
		"hcloud-csi":         {objects: 11},
		"k8zner-crd":         {objects: 1},
		"kops-hetzner":       {objects: 43, warnings: 1},
		"kube-prometheus":    {objects: 131},
		"microservices-demo": {objects: 35},
	} {
		t.Run(set, func(t *testing.T) {
			folder := filepath.Join(dir, set)
			got, err := Read(t.Context(), Options{Filenames: []string{folder}, Recursive: true})
			var faults []string
			for _, line := range lines(err) {
				faults = append(faults, strings.TrimPrefix(line, folder+"/"))
			}
			if diff := cmp.Diff(want.faults, faults); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if len(got.Objects) != want.objects || len(got.Warnings) != want.warnings {
				t.Errorf("%d objects and %d warnings, want %d and %d", len(got.Objects), len(got.Warnings), want.objects, want.warnings)
			}
		})
	}
}
