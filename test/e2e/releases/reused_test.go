package releases_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The history of an uninstalled release keeps its name in use: as forecast, helm install and helm upgrade
// refuse it, and helm upgrade --install uses it again.
func TestNameOfUninstalledRelease(t *testing.T) {
	s := newSite(t, "reused")
	chart := folder(t, with(note))
	s.helm.Run(t, "install", "web", chart, "-n", s.namespace)
	s.helm.Run(t, "uninstall", "web", "-n", s.namespace, "--keep-history")
	const kept = "Helm release reused/web is uninstalled: only its history is kept, up to revision 1"
	for _, args := range [][]string{{"releases", "web"}, {"give", "--helm-release=reused/web", "--from=kubectl-edit"}} {
		if status, out, message := s.plugin(t, args...); status != 2 || !strings.Contains(strings.Join(strings.Fields(message), " "), kept) {
			t.Errorf("%s, without a chart: exit status %d: %s%s", args, status, out, message)
		}
	}
	if status, _, message := s.plugin(t, "releases", "none"); status != 2 || !strings.Contains(message, "not found") {
		t.Errorf("a release that never existed: exit status %d: %s", status, message)
	}
	output := s.output(t, chart)
	status, all, text := s.forecasts(t, "web", output)
	if f := all[0]; status != 1 || f.Forecast != "fails" || f.Refused == nil || !strings.Contains(f.Refused.Hint, "helm upgrade --install") {
		t.Error(text)
	}
	for _, verb := range []string{"install", "upgrade"} {
		if _, err := s.helm.Try(t.Context(), verb, "web", chart, "-n", s.namespace); err == nil {
			t.Errorf("helm %s succeeds", verb)
		}
	}
	s.helm.Run(t, "upgrade", "--install", "web", chart, "-n", s.namespace)
	if status, all, text := s.forecasts(t, "web", output); status != 0 || all[0].Refused != nil {
		t.Error(text)
	}
}

// A release of which only the history is kept receives an object like one that does not exist yet.
func TestMoveToUninstalledRelease(t *testing.T) {
	s := newSite(t, "receiver")
	s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
	s.helm.Run(t, "install", "old", folder(t, with(note+rest)), "-n", s.namespace)
	s.helm.Run(t, "install", "nu", folder(t, strings.ReplaceAll(rest, "web", "shop")), "-n", s.namespace)
	s.helm.Run(t, "uninstall", "nu", "-n", s.namespace, "--keep-history")
	move := "kubectl k8sconnect give configmap/web --from-release=receiver/old --to-release=receiver/nu"
	if out := s.run(t, move, 2); !strings.Contains(out, "add --allow-new") {
		t.Error(out)
	}
	before := s.live(t)["ConfigMap web"].GetUID()
	s.run(t, move+" --allow-new", 0)
	s.helm.Run(t, "upgrade", "--install", "nu", folder(t, with(note)), "-n", s.namespace)
	s.helm.Run(t, "upgrade", "old", folder(t, rest), "-n", s.namespace)
	if now := s.live(t)["ConfigMap web"]; now == nil || now.GetUID() != before {
		t.Error("the object was lost")
	}
}

// If the newest revision was deleted, as people do with one that is stuck, only superseded ones can remain. Helm
// upgrades the release from the newest of them, so the forecast is that of this revision.
func TestSupersededRelease(t *testing.T) {
	s := newSite(t, "superseded")
	s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps"), "Secret": gvr("", "v1", "secrets")}
	s.helm.Run(t, "install", "web", folder(t, with(note+rest)), "-n", s.namespace)
	if _, err := s.helm.Try(t.Context(), "upgrade", "web", folder(t, with(note)+unnamed), "-n", s.namespace); err == nil {
		t.Fatal("revision 2 does not fail")
	}
	s.helm.Run(t, "upgrade", "web", folder(t, with(note)), "-n", s.namespace)
	s.helm.Run(t, "upgrade", "web", folder(t, with(note+rest)), "-n", s.namespace)
	if err := s.of(s.kinds["Secret"]).Delete(t.Context(), "sh.helm.release.v1.web.v4", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.merge(t, "ConfigMap", "kubectl-edit", `{"data": {"mode": "hot"}}`)
	for _, args := range [][]string{{"web"}, nil} {
		status, all, text := s.forecasts(t, args...)
		if len(all) != 1 || status != 1 || all[0].Revision != 3 || all[0].Objects != 1 || len(flat(all[0].Conflicts)) != 1 {
			t.Fatalf("%q: exit status %d: %s", args, status, text)
		}
	}
	_, all, _ := s.forecasts(t, "web")
	s.run(t, all[0].Next[0], 0)
	_, all, text := s.forecasts(t, "web", s.output(t, folder(t, rest)))
	if len(all[0].Deletes) != 1 || all[0].Deletes[0].Kind != "ConfigMap" {
		t.Error(text)
	}
	s.helm.Run(t, "upgrade", "web", folder(t, rest), "-n", s.namespace)
	if s.live(t)["ConfigMap web"] != nil {
		t.Error("Helm does not delete the object")
	}
}
