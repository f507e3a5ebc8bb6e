package releases_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// program makes another program with Helm's library the one that installed the release: it has its own field
// manager.
func (s *site) program(t *testing.T, name string) {
	t.Helper()
	live := s.live(t)["ConfigMap web"]
	fields := live.GetManagedFields()
	for i := range fields {
		fields[i].Manager = name
	}
	live.SetManagedFields(fields)
	if _, err := s.of(s.kinds["ConfigMap"]).Update(t.Context(), live, metav1.UpdateOptions{FieldManager: name}); err != nil {
		t.Fatal(err)
	}
}

// The forecast names the program whose upgrade it is: Flux, which forces conflicts, another program with Helm's
// library, or Helm. An apply by that program ends as forecast, and helm upgrade by hand conflicts with the program.
func TestForecastNamesTheProgram(t *testing.T) {
	const flux = "labels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: NAMESPACE}"
	for name, tt := range map[string]struct{ program, method, labels, head string }{
		"flux":      {program: "helm-controller", method: "--server-side=true", labels: flux, head: "server-side, by Flux"},
		"flux-csa":  {program: "helm-controller", method: "--server-side=false", labels: flux, head: "client-side, by Flux"},
		"terraform": {program: "terraform-provider-helm", method: "--server-side=true", head: "server-side, by terraform-provider-helm"},
		"helm":      {program: "helm", method: "--server-side=true", head: "server-side "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "program-"+name)
			s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
			template := func(mode string) string {
				labels := strings.ReplaceAll(tt.labels, "NAMESPACE", s.namespace)
				return folder(t, strings.Replace(with(note, "MODE", mode), "{name: web}", "{name: web, "+labels+"}", 1))
			}
			s.helm.Run(t, "install", "web", template("a"), "-n", s.namespace, tt.method)
			s.program(t, tt.program)
			isFlux, changed := tt.labels != "", s.output(t, template("b"))
			if status, all, text := s.forecasts(t, "web", changed); status != 0 || all[0].Manager != tt.program || all[0].Flux != isFlux || all[0].Forecast != "ready" {
				t.Errorf("without edits: %s", text)
			}
			s.merge(t, "ConfigMap", "kubectl-edit", `{"data": {"mode": "hot"}}`)
			_, all, text := s.forecasts(t, "web", changed)
			f := all[0]
			if len(flat(f.Conflicts))+len(flat(f.Overwrites)) != 1 || (f.Forecast == "ready") != isFlux {
				t.Error(text)
			}
			for _, format := range []string{"table", "markdown", "junit"} {
				_, out, _ := s.plugin(t, "releases", "web", "-o", format)
				if format != "junit" && !strings.Contains(strings.ReplaceAll(out, " | ", "  "), tt.head) || strings.Contains(out, "Flux upgrades it") != isFlux {
					t.Errorf("%s:\n%s", format, out)
				}
			}
			if !f.ServerSide {
				return
			}
			apply := func() error {
				_, err := s.of(s.kinds["ConfigMap"]).Patch(t.Context(), "web", types.ApplyPatchType, []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"mode": "b"}}`), metav1.PatchOptions{FieldManager: tt.program, Force: &isFlux})
				return err
			}
			if err := apply(); (err == nil) != (f.Forecast == "ready") {
				t.Errorf("%s\n%v", text, err)
			}
			if !isFlux {
				s.run(t, f.Next[0], 0)
				if err := apply(); err != nil {
					t.Errorf("after %s: %v", f.Next[0], err)
				}
			}
			_, err := s.helm.Try(t.Context(), "upgrade", "web", template("c"), "-n", s.namespace)
			if conflicts := err != nil && strings.Contains(err.Error(), `conflict with \"`+tt.program+`\"`); conflicts != (tt.program != "helm") {
				t.Errorf("helm upgrade by hand: %v", err)
			}
		})
	}
}
