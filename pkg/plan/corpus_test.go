package plan_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Real sets have plans without an error, except for duplicates with different content. Duplicates
// with the same content are planned once.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in short mode; the tables of the other tests contain small samples")
	}
	dir := cmp.Or(os.Getenv("CORPUS"), "../../../shared/corpus")
	if _, err := os.Stat(filepath.Join(dir, "INDEX.md")); err != nil {
		t.Skipf("no corpus of real manifests at %s; set CORPUS. The tables of the other tests contain small samples", dir)
	}
	for set, want := range map[string]struct {
		phases     string
		duplicates int
	}{
		"argocd":             {phases: "CRDs and namespaces, configuration, workloads"},
		"cert-manager-crds":  {phases: "CRDs and namespaces"},
		"cilium-1.18":        {phases: "configuration, configuration 2, network, workloads"},
		"deprecated":         {duplicates: 17},
		"flux-2.4.0":         {duplicates: 2},
		"gateway-api":        {duplicates: 27},
		"hcloud-ccm":         {duplicates: 1},
		"hcloud-csi":         {phases: "configuration, configuration 2, workloads, unknown kinds"},
		"k8zner-crd":         {phases: "CRDs and namespaces"},
		"kops-hetzner":       {phases: "configuration, configuration 2, workloads"},
		"kube-prometheus":    {phases: "CRDs and namespaces, configuration, configuration 2, workloads, webhooks"},
		"microservices-demo": {phases: "configuration, workloads"},
	} {
		t.Run(set, func(t *testing.T) {
			// The set "deprecated" has invalid documents, which package manifest reports. The valid
			// objects in it are planned.
			in, err := manifest.Read(t.Context(), manifest.Options{
				Filenames: []string{filepath.Join(dir, set)}, Recursive: true, SkipNonObjects: true,
			})
			if len(in.Objects) == 0 {
				t.Fatal(err)
			}
			p, err := plan.Build(in.Objects, plan.Options{Kinds: builtIn(t)})
			if want.duplicates > 0 {
				lines := strings.Split(message(err), "\n")
				for _, line := range lines {
					if strings.Count(line, dir) != 2 || !strings.Contains(line, "is in the input twice") {
						t.Errorf("%s: want a duplicate with both places", line)
					}
				}
				if len(lines) != want.duplicates {
					t.Errorf("%d duplicates, want %d", len(lines), want.duplicates)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var phases []string
			items := 0
			for _, phase := range p.Phases {
				phases = append(phases, phase.Name)
				items += len(phase.Items)
			}
			if got := strings.Join(phases, ", "); got != want.phases || items != len(in.Objects) {
				t.Errorf("%d of %d objects in %s, want %s", items, len(in.Objects), got, want.phases)
			}
		})
	}
}
