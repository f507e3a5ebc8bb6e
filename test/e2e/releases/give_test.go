package releases_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// hidden are upgrades that the server refuses for a reason that a conflict hides, or that only a transfer of
// fields does not settle.
func hidden() map[string]reported {
	frozen := func(manager string) func(t *testing.T, s *site) {
		return func(t *testing.T, s *site) {
			s.merge(t, "ConfigMap", manager, `{"data": {"mode": "hot"}, "immutable": true}`)
		}
	}
	return map[string]reported{
		"a conflict in an object that became immutable":   {before: with(note), after: with(note), between: frozen("kubectl-edit")},
		"a value of Helm's that can no longer be changed": {before: with(note), after: with(note), between: frozen("helm")},
		"a new value of an object that became immutable":  {before: with(note), after: with(note, "MODE", "b"), between: frozen("kubectl-edit")},
		"a conflict beside a field that is not in the schema": {before: with(cr), after: with(cr, "EXTRA", ", tls: {enabled: true}"), between: func(t *testing.T, s *site) {
			s.merge(t, "Gear", "kubectl-edit", `{"spec": {"size": 2}}`)
		}},
		"a conflict that is settled": {before: with(note), after: with(note), between: func(t *testing.T, s *site) {
			s.merge(t, "ConfigMap", "kubectl-edit", `{"data": {"mode": "hot"}}`)
		}},
	}
}

// give with all owners ends with 0 only if the upgrade then succeeds, and releases agrees: each of the reported
// upgrades, and those whose refusal is hidden by a conflict. A refusal is printed with the reason of the server.
func TestGiveClaimsNoMoreThanReleases(t *testing.T) {
	setup := newSite(t, "claims")
	setup.apply(t, gvr("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "setup", gearDefinition)
	setup.eventually(t, "gears are served", func() bool {
		_, err := setup.of(gvr("forecast.example.com", "v1", "gears")).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	all := hidden()
	if circle.Of(false, true, true) {
		maps.Copy(all, reports())
	}
	i := 0
	for name, of := range all {
		i++
		namespace := fmt.Sprintf("claims-%d", i)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, namespace)
			s.kinds["HorizontalPodAutoscaler"] = gvr("autoscaling", "v2", "horizontalpodautoscalers")
			s.kinds["StatefulSet"] = gvr("apps", "v1", "statefulsets")
			s.kinds["Lease"] = gvr("coordination.k8s.io", "v1", "leases")
			switch {
			case strings.Contains(of.before, "generateName"):
				t.Skip("Helm cannot install it server-side")
			case name == "a new object with a field that is not in the schema":
				t.Skip("give does not examine objects that the upgrade creates")
			}
			s.claims(t, of)
		})
	}
}

func (s *site) claims(t *testing.T, of reported) {
	s.helm.Run(t, "install", "web", folder(t, strings.ReplaceAll(of.before, "NAMESPACE", s.namespace)), "-n", s.namespace)
	if of.between != nil {
		of.between(t, s)
	}
	chart := folder(t, strings.ReplaceAll(of.after, "NAMESPACE", s.namespace))
	next := filepath.Join(t.TempDir(), "next.yaml")
	if err := os.WriteFile(next, []byte(s.helm.Run(t, "template", "web", chart, "-n", s.namespace)), 0o600); err != nil {
		t.Fatal(err)
	}
	owners := map[string]bool{"helm": true}
	for _, u := range s.live(t) {
		for _, e := range u.GetManagedFields() {
			owners[e.Manager] = u.GetName() == "web" || owners[e.Manager]
		}
	}
	maps.DeleteFunc(owners, func(_ string, of bool) bool { return !of })
	give := []string{"give", "--helm-release=" + s.namespace + "/web", "--chart-output=" + next, "--from=" + strings.Join(slices.Sorted(maps.Keys(owners)), ",")}
	status, out, message := s.plugin(t, give...)
	_, all, text := s.forecasts(t, "web", "--chart-output="+next)
	f := all[0]
	_, err := s.helm.Try(t.Context(), "upgrade", "web", chart, "-n", s.namespace)
	t.Logf("give: exit status %d; releases: %s; helm: %v", status, f.Forecast, err)
	imported := err != nil && strings.Contains(err.Error(), "cannot be imported") // Not a question of fields.
	if status == 0 && err != nil && !imported {
		t.Errorf("give: exit status 0:\n%s%s\nhelm: %v", out, message, err)
	}
	if (f.Forecast == "ready") != (err == nil) {
		t.Errorf("releases: %s\nhelm: %v", text, err)
	}
	if refused := strings.Contains(out, "will be refused"); refused != (err != nil && !imported) {
		t.Errorf("refused: %t\n%s%s\nhelm: %v", refused, out, message, err)
	}
}

// After a server-side upgrade of a client-side release has failed, the next one first migrates Helm's own updates. So
// they are in no conflict, neither for releases nor for the command that it prints.
func TestGiveKnowsThatHelmMigrates(t *testing.T) {
	s := newSite(t, "migrates")
	chart := func(mode string) string {
		return folder(t, strings.Replace(with(note, "MODE", mode), "{name: web}", "{name: web, annotations: {note: x}}", 1))
	}
	s.helm.Run(t, "install", "web", chart("a"), "-n", s.namespace, "--server-side=false")
	s.merge(t, "ConfigMap", "kubectl-edit", `{"metadata": {"annotations": {"note": "y"}}}`)
	upgrade := []string{"upgrade", "web", chart("b"), "-n", s.namespace, "--server-side=true"}
	if _, err := s.helm.Try(t.Context(), upgrade...); err == nil {
		t.Fatal("the upgrade succeeds")
	}
	s.merge(t, "ConfigMap", "helm", `{"data": {"mode": "hot"}}`)
	_, all, text := s.forecasts(t, "web")
	if f := all[0]; len(flat(f.Conflicts)) != 1 || len(f.Next) != 1 {
		t.Fatal(text)
	}
	s.run(t, all[0].Next[0], 0)
	if _, err := s.helm.Try(t.Context(), upgrade...); err != nil {
		t.Error(err)
	}
}
