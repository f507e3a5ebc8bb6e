package releases_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The first install of a chart over objects of kubectl, as in helm/helm#31510, is forecast, too: Helm
// refuses to import them and, with --take-ownership, conflicts until the proposed command was run.
func TestFirstInstall(t *testing.T) {
	s := newSite(t, "first")
	output := filepath.Join(t.TempDir(), "next.yaml")
	chart := folder(t, with(note, "MODE", "b"))
	if err := os.WriteFile(output, []byte(s.helm.Run(t, "template", "web", chart, "-n", s.namespace)), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, all, text := s.forecasts(t, "web", "--chart-output="+output); status != 0 || all[0].Forecast != "ready" {
		t.Errorf("without the object: %s", text)
	}
	_, err := s.of(s.kinds["ConfigMap"]).Patch(t.Context(), "web", types.ApplyPatchType,
		[]byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"mode": "a"}}`), metav1.PatchOptions{FieldManager: "kubectl"})
	if err != nil {
		t.Fatal(err)
	}
	status, all, text := s.forecasts(t, "web", "--chart-output="+output)
	f := all[0]
	if status != 1 || f.Forecast != "fails" || len(f.Refusals) != 1 || strings.Join(flat(f.Conflicts), " ") != "ConfigMap .data.mode" || len(f.Next) != 1 {
		t.Fatalf("status %d: %s", status, text)
	}
	install := []string{"install", "web", chart, "-n", s.namespace}
	if _, err := s.helm.Try(t.Context(), install...); err == nil || !strings.Contains(err.Error(), "cannot be imported") {
		t.Errorf("helm: %v", err)
	}
	words := strings.Fields(strings.TrimPrefix(f.Next[0], "kubectl k8sconnect "))
	if status, out, message := s.plugin(t, words...); status != 0 {
		t.Errorf("%s: exit status %d: %s%s", f.Next[0], status, out, message)
	}
	if _, err := s.helm.Try(t.Context(), append(install, "--take-ownership")...); err != nil {
		t.Errorf("after %s: %v", f.Next[0], err)
	}
	if status, all, text := s.forecasts(t, "web"); status != 0 || all[0].Forecast != "ready" {
		t.Errorf("after the install: %s", text)
	}
}
