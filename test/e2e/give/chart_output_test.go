package give_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
)

// The stored manifest does not contain an object that joins the release with the next upgrade, so
// give cannot settle its conflict. With Helm's own output for the next upgrade, it can.
func TestGiveReadsChartOutput(t *testing.T) {
	for name, render := range map[string][]string{
		"helm template":           {"template"},
		"helm upgrade --dry-run":  {"upgrade", "--dry-run=client"},
		"with computed and notes": {"upgrade", "--dry-run=server", "--debug"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, strings.Join(strings.Fields(strings.ReplaceAll(name, "-", "")), "-"))
			h := chart.NewHelm(t, s.KubeconfigPath)
			h.Run(t, "install", "web", folder(t, s, with(settings, "INDEX", "1")), "-n", s.namespace)
			s.kubectl(t, "", "create", "configmap", "joins", "--from-literal=mode=slow", "--field-manager=helm")
			upgraded := folder(t, s, with(settings, "INDEX", "2")+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: joins}, data: {mode: fast}}\n"+
				"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}\n")
			for file, text := range map[string]string{
				"NOTES.txt": "kind: of notes\n", "hook.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: hook, annotations: {helm.sh/hook: post-delete}}}",
			} {
				if err := os.WriteFile(filepath.Join(upgraded, "templates", file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			upgrade := []string{"web", upgraded, "-n", s.namespace}
			status, out := s.give(t, "--helm-release="+s.namespace+"/web", "--from=helm")
			if !strings.Contains(out, "1 unchanged") {
				t.Errorf("the stored manifest: exit status %d:\n%s", status, out)
			}
			args := append(append(render, upgrade...), "--take-ownership")
			if render[0] == "template" {
				args = append(render, upgrade...)
			}
			output := file(t, h.Run(t, args...))
			status, out = s.give(t, "--helm-release="+s.namespace+"/web", "--from=helm", "--chart-output="+output)
			if status != 0 || !strings.Contains(out, "helm's next apply of the chart output: 1 conflict before, none after") {
				t.Errorf("the chart output: exit status %d:\n%s", status, out)
			}
			h.Run(t, append([]string{"upgrade", "--take-ownership"}, upgrade...)...)
			if mode := s.kubectl(t, "", "get", "cm/joins", "-o", "jsonpath={.data.mode}"); mode != "fast" {
				t.Errorf("after the upgrade, .data.mode is %q, want fast", mode)
			}
		})
	}
}

// Helm patches a release that is not server-side, so its next upgrade has no conflict to predict.
func TestGiveOfClientSideRelease(t *testing.T) {
	s := newSite(t, "client-side")
	h := chart.NewHelm(t, s.KubeconfigPath)
	h.Run(t, "install", "web", folder(t, s, with(settings, "INDEX", "1")), "-n", s.namespace, "--server-side=false")
	s.update(t, configMaps, "settings", "kubectl-edit", `{"data": {"index.html": "0"}}`)
	s.update(t, configMaps, "settings", "kubectl-patch", `{"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}}`)
	status, out := s.give(t, "--helm-release=client-side/web", "--from=kubectl-edit")
	if status != 0 || !strings.Contains(out, "is upgraded client-side") || strings.Contains(out, "next apply") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	h.Run(t, "upgrade", "web", folder(t, s, with(settings, "INDEX", "2")), "-n", s.namespace, "--take-ownership")
	// A server-side upgrade moves the entry of Helm's updates, with the fields that it received.
	s.update(t, configMaps, "settings", "kubectl-edit", `{"data": {"index.html": "0"}}`)
	if status, out := s.give(t, "--helm-release=client-side/web", "--from=kubectl-edit"); status != 0 {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	h.Run(t, "upgrade", "web", folder(t, s, with(settings, "INDEX", "3")), "-n", s.namespace, "--server-side=true")
	if got := s.kubectl(t, "", "get", "cm/settings", "-o", `jsonpath={.data.index\.html}`); got != "3" {
		t.Errorf("after the upgrade, index.html is %q, want 3", got)
	}
}

// Helm can store releases in ConfigMaps.
func TestGiveOfReleaseInConfigMap(t *testing.T) {
	s := newSite(t, "in-configmap")
	t.Setenv("HELM_DRIVER", "configmap")
	h := chart.NewHelm(t, s.KubeconfigPath)
	h.Run(t, "install", "web", folder(t, s, with(settings, "INDEX", "1")), "-n", s.namespace)
	s.update(t, configMaps, "settings", "kubectl-edit", `{"data": {"index.html": "0"}}`)
	status, out := s.give(t, "--helm-release=in-configmap/web", "--from=kubectl-edit")
	if status != 0 || !strings.Contains(out, "1 conflict before, none after") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	h.Run(t, "upgrade", "web", folder(t, s, with(settings, "INDEX", "2")), "-n", s.namespace)
}
