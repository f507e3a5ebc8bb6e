package releases_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// run runs a command of a forecast, and returns its output.
func (s *site) run(t *testing.T, next string, want int) string {
	t.Helper()
	words, is := strings.CutPrefix(next, "kubectl k8sconnect ")
	if !is {
		t.Fatalf("%q is no command", next)
	}
	given := strings.Fields(words)
	if i := slices.Index(given, "-n"); i >= 0 { // The helper adds it.
		given = slices.Delete(given, i, i+2)
	}
	status, out, message := s.plugin(t, given...)
	if status != want {
		t.Errorf("%s: exit status %d: %s%s", next, status, out, message)
	}
	return out + message
}

// In the middle of a move, the old release still lists the object. Whatever else is in conflict, its
// forecast proposes no command that takes the marks back, and the move ends well.
func TestForecastWithinMove(t *testing.T) {
	for name, tt := range map[string]struct {
		method string
		// edited means that another client changed another object, and legacy that it was an update of Helm.
		edited, legacy bool
	}{
		"client": {method: "--server-side=false"}, "server": {method: "--server-side=true"},
		"client-edited": {method: "--server-side=false", edited: true},
		"client-legacy": {method: "--server-side=false", edited: true, legacy: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "within-"+name)
			s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps"), "Secret": gvr("", "v1", "secrets")}
			s.helm.Run(t, "install", "shop", folder(t, with(note+"---\n"+secret)), "-n", s.namespace)
			s.helm.Run(t, "install", "mon", folder(t, rest), "-n", s.namespace, tt.method)
			want := []string{"kubectl k8sconnect give configmap/web -n " + s.namespace + " --from-release=" + s.namespace + "/shop --to-release=" + s.namespace + "/mon"}
			s.run(t, want[0], 0)
			if tt.edited {
				manager := "kubectl-edit"
				if tt.legacy {
					manager = "helm"
				} else {
					want = append([]string{"kubectl k8sconnect give --helm-release=" + s.namespace + "/shop --from=kubectl-edit"}, want...)
				}
				s.merge(t, "Secret", manager, `{"data": {"tls.crt": "Yg=="}}`)
			}
			_, all, text := s.forecasts(t, "shop")
			var next []string
			for _, line := range all[0].Next {
				next = append(next, strings.Replace(line, " --kubeconfig="+s.KubeconfigPath, "", 1))
			}
			if !slices.Equal(next, want) {
				t.Fatalf("next: %q, want %q", next, want)
			}
			for i, next := range all[0].Next {
				stays := 0
				if len(all[0].Next) == 2 && i == 0 { // The marks remain in conflict.
					stays = 1
				}
				if out := s.run(t, next, stays); strings.Contains(out, "--from=helm") {
					t.Errorf("%s proposes to take the marks back:\n%s", next, out)
				}
			}
			before := s.live(t)["ConfigMap web"]
			if got := before.GetAnnotations()["meta.helm.sh/release-name"]; got != "mon" {
				t.Fatalf("the object carries the marks of %q:\n%s", got, text)
			}
			s.helm.Run(t, "upgrade", "mon", folder(t, with(note+rest)), "-n", s.namespace)
			without := folder(t, with(secret))
			if tt.legacy { // The move is nearly done, so the other object's conflict gets its command.
				output := filepath.Join(t.TempDir(), "next.yaml")
				if err := os.WriteFile(output, []byte(s.helm.Run(t, "template", "shop", without, "-n", s.namespace)), 0o600); err != nil {
					t.Fatal(err)
				}
				_, all, text := s.forecasts(t, "shop", "--chart-output="+output)
				if len(all[0].Next) != 1 {
					t.Fatal(text)
				}
				s.run(t, all[0].Next[0], 0)
			}
			s.helm.Run(t, "upgrade", "shop", without, "-n", s.namespace)
			if after := s.live(t)["ConfigMap web"]; after == nil || after.GetUID() != before.GetUID() {
				t.Errorf("the object was deleted: %v", after)
			}
			if _, all, text := s.forecasts(t); all[0].Forecast != "ready" || all[1].Forecast != "ready" {
				t.Errorf("after the move: %s", text)
			}
		})
	}
}

// A move to a release that does not exist is refused unless --allow-new announces it, and one to a namespace that
// does not exist always is. A move that was announced with a misspelt name can be taken back by the command that the forecast of the old
// release prints, and by the one that removes the annotation. Then Helm deletes the object when it leaves
// the chart.
func TestMoveToMisspeltRelease(t *testing.T) {
	s := newSite(t, "misspelt")
	s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
	s.helm.Run(t, "install", "mon", folder(t, with(note+rest)), "-n", s.namespace)
	s.helm.Run(t, "install", "shop", folder(t, strings.ReplaceAll(rest, "web", "shop")), "-n", s.namespace)
	move := "kubectl k8sconnect give configmap/web --from-release=misspelt/mon --to-release=misspelt/shpo"
	before := s.live(t)["ConfigMap web"].GetResourceVersion()
	out := strings.Join(strings.Fields(s.run(t, move, 2)), " ")
	for _, want := range []string{"Helm release misspelt/shpo does not exist", "did you mean misspelt/shop?", "add --allow-new"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	out = strings.Join(strings.Fields(s.run(t, strings.Replace(move, "=misspelt/shpo", "=mispelt/shop --allow-new", 1), 2)), " ")
	if want := "namespace/mispelt does not exist; did you mean misspelt?"; !strings.Contains(out, want) {
		t.Errorf("%q is missing:\n%s", want, out)
	}
	if after := s.live(t)["ConfigMap web"].GetResourceVersion(); after != before {
		t.Error("a refused move has written")
	}
	out = s.run(t, move+" --allow-new", 0)
	if want := "install Helm release misspelt/shpo, which does not exist yet (did you mean misspelt/shop?), with it in its chart"; !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
		t.Errorf("%q is missing:\n%s", want, out)
	}
	_, all, text := s.forecasts(t, "mon")
	if len(all[0].Next) != 1 {
		t.Fatal(text)
	}
	back, is := strings.CutPrefix(all[0].Next[0], "if misspelt/shpo will not be installed: ")
	if !is {
		t.Fatalf("next: %q", all[0].Next)
	}
	want := "remove the annotation that keeps it, unless another release still lists it: kubectl annotate"
	for _, when := range []string{"moved back", "repeated"} {
		out = strings.Join(strings.Fields(s.run(t, back, 0)), " ")
		if !strings.Contains(out, want) || !strings.Contains(out, "configmap/web -n misspelt helm.sh/resource-policy-") {
			t.Errorf("%s: %q is missing:\n%s", when, want, out)
		}
	}
	s.merge(t, "ConfigMap", "kubectl-annotate", `{"metadata": {"annotations": {"helm.sh/resource-policy": null}}}`)
	if out := s.run(t, back, 1); !strings.Contains(strings.Join(strings.Fields(out), " "), "Helm release misspelt/shpo not found, and the object does not carry its marks") {
		t.Errorf("without the annotation, an old owner that does not exist is accepted:\n%s", out)
	}
	if status, all, text := s.forecasts(t, "mon"); status != 0 || len(all[0].Foreign) != 0 || len(all[0].Next) != 0 {
		t.Errorf("after it was taken back: %s", text)
	}
	s.helm.Run(t, "upgrade", "mon", folder(t, with(note+rest, "MODE", "b")), "-n", s.namespace)
	s.helm.Run(t, "upgrade", "mon", folder(t, rest), "-n", s.namespace)
	if s.live(t)["ConfigMap web"] != nil {
		t.Error("Helm no longer deletes the object")
	}
}
