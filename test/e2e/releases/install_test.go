package releases_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// To split a release by --chart-output and the proposed command: the new release imports the object,
// and the old one keeps it.
func TestSplit(t *testing.T) {
	s := newSite(t, "split")
	s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
	output := func(name, chart string) string {
		path := filepath.Join(t.TempDir(), "next.yaml")
		if err := os.WriteFile(path, []byte(s.helm.Run(t, "template", name, chart, "-n", s.namespace)), 0o600); err != nil {
			t.Fatal(err)
		}
		return "--chart-output=" + path
	}
	s.helm.Run(t, "install", "old", folder(t, with(note+rest)), "-n", s.namespace)
	before := s.live(t)["ConfigMap web"].GetUID()
	chart := folder(t, with(note))
	_, all, text := s.forecasts(t, "web", output("web", chart))
	if f := all[0]; f.Forecast != "fails" || len(f.Next) != 1 || !strings.HasSuffix(f.Next[0], " --from-release=split/old --to-release=split/web --allow-new") {
		t.Fatal(text)
	}
	if !strings.Contains(text, "with --take-ownership instead, split/old could still delete it") {
		t.Errorf("the hint proposes to take over an object that the old release lists:\n%s", text)
	}
	words := strings.Fields(strings.Replace(strings.TrimPrefix(all[0].Next[0], "kubectl k8sconnect "), "-n split", "", 1))
	if status, out, message := s.plugin(t, words...); status != 0 {
		t.Errorf("%s: exit status %d: %s%s", all[0].Next[0], status, out, message)
	}
	if status, all, text := s.forecasts(t, "web", output("web", chart)); status != 0 || len(all[0].Foreign) > 0 {
		t.Errorf("after the command: %s", text)
	}
	s.helm.Run(t, "install", "web", chart, "-n", s.namespace)
	without := folder(t, rest)
	if status, all, text := s.forecasts(t, "old", output("old", without)); status != 0 || len(all[0].Deletes) > 0 {
		t.Errorf("the old release: %s", text)
	}
	s.helm.Run(t, "upgrade", "old", without, "-n", s.namespace)
	if after := s.live(t)["ConfigMap web"]; after == nil || after.GetUID() != before {
		t.Errorf("the object was deleted: %v", after)
	}
}

// With --take-ownership instead of the printed command, the old release deletes the object when it leaves its chart.
// https://github.com/helm/helm/issues/10983
func TestTakeOwnershipLosesTheObject(t *testing.T) {
	s := newSite(t, "taken")
	s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
	s.helm.Run(t, "install", "old", folder(t, with(note+rest)), "-n", s.namespace)
	s.helm.Run(t, "install", "web", folder(t, with(note)), "-n", s.namespace, "--take-ownership")
	without := folder(t, rest)
	output := filepath.Join(t.TempDir(), "next.yaml")
	if err := os.WriteFile(output, []byte(s.helm.Run(t, "template", "old", without, "-n", s.namespace)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, all, text := s.forecasts(t, "old", "--chart-output="+output)
	if f := all[0]; len(f.Deletes) != 1 || len(f.Next) != 1 || !strings.HasSuffix(f.Next[0], " --from-release=taken/old --to-release=taken/web") {
		t.Fatal(text)
	}
	s.helm.Run(t, "upgrade", "old", without, "-n", s.namespace)
	if s.live(t)["ConfigMap web"] != nil {
		t.Error("Helm keeps the object: the hint of releases is wrong")
	}
}

// Helm leaves its marks on an object that it keeps when it uninstalls a release, and may keep the history.
// The printed command moves the object, so that another release imports it.
func TestKeptByUninstalledRelease(t *testing.T) {
	for name, flags := range map[string][]string{"gone": nil, "history": {"--keep-history"}} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "kept-"+name)
			s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
			chart := folder(t, strings.Replace(with(note), "{name: web}", "{name: web, annotations: {helm.sh/resource-policy: keep}}", 1))
			s.helm.Run(t, "install", "old", chart, "-n", s.namespace)
			s.helm.Run(t, append([]string{"uninstall", "old", "-n", s.namespace}, flags...)...)
			before := s.live(t)["ConfigMap web"].GetUID()
			output := filepath.Join(t.TempDir(), "next.yaml")
			if err := os.WriteFile(output, []byte(s.helm.Run(t, "template", "web", chart, "-n", s.namespace)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, all, text := s.forecasts(t, "web", "--chart-output="+output)
			if f := all[0]; f.Forecast != "fails" || len(f.Refusals) != 1 || len(f.Foreign) != 1 || !f.Foreign[0].Absent || len(f.Next) != 1 {
				t.Fatal(text)
			}
			if out := s.run(t, all[0].Next[0], 0); strings.Contains(out, "annotate") {
				t.Errorf("the annotation of the chart should go:\n%s", out)
			}
			s.helm.Run(t, "install", "web", chart, "-n", s.namespace)
			if status, all, text := s.forecasts(t, "web"); status != 0 || all[0].Forecast != "ready" || len(all[0].Foreign) != 0 {
				t.Errorf("after the install: %s", text)
			}
			if after := s.live(t)["ConfigMap web"].GetUID(); after != before {
				t.Error("the object was created again")
			}
		})
	}
}

// A release whose chart has only hooks has an empty manifest, but it is installed.
func TestOnlyHooks(t *testing.T) {
	s := newSite(t, "hooks")
	s.helm.Run(t, "install", "web", folder(t, strings.Replace(with(note), "{name: web}", "{name: web, annotations: {helm.sh/hook: post-install}}", 1)), "-n", s.namespace)
	status, all, text := s.forecasts(t, "web")
	if f := all[0]; status != 0 || f.Revision != 1 || !f.ServerSide || f.Objects != 0 || f.Forecast != "ready" {
		t.Error(text)
	}
}

// An autoscaler sets the replicas again after each upgrade (windmill-labs/windmill-helm-charts#543,
// NatLabRockies/openstudio-server-helm#110), a person does not.
func TestAutoscaled(t *testing.T) {
	s := newSite(t, "autoscaled")
	s.helm.Run(t, "install", "web", folder(t, with(workload, "STRATEGY", "replicas: 1")), "-n", s.namespace)
	for i, manager := range []string{"kubectl", "vpa-recommender"} {
		scale := fmt.Sprintf(`{"spec": {"replicas": %d}}`, i+2)
		_, err := s.of(s.kinds["Deployment"]).Patch(t.Context(), "web", types.MergePatchType, []byte(scale), metav1.PatchOptions{FieldManager: manager}, "scale")
		if err != nil {
			t.Fatal(err)
		}
		if _, all, text := s.forecasts(t, "web"); len(flat(all[0].Conflicts)) != 1 || len(all[0].Autoscaled) != i {
			t.Errorf("%s: %s", manager, text)
		}
	}
}

// An object whose values have changed although only Helm owns them may not be changed back: the upgrade is
// refused, also if the chart is the same.
func TestChangedBackIsRefused(t *testing.T) {
	s := newSite(t, "back")
	chart := folder(t, with(note))
	s.helm.Run(t, "install", "web", chart, "-n", s.namespace)
	s.merge(t, "ConfigMap", "helm", `{"data": {"mode": "hot"}, "immutable": true}`)
	if status, out, message := s.plugin(t, "give", "--helm-release="+s.namespace+"/web", "--from=helm"); status == 2 {
		t.Fatalf("%s%s", out, message)
	}
	_, all, text := s.forecasts(t, "web")
	_, err := s.helm.Try(t.Context(), "upgrade", "web", chart, "-n", s.namespace)
	if f := all[0]; err == nil || f.Forecast != "fails" || len(f.Refusals) != 1 {
		t.Errorf("%s\nhelm: %v", text, err)
	}
}
