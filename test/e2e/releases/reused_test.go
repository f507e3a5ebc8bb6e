package releases_test

import (
	"strings"
	"testing"
)

// The history of an uninstalled release keeps its name in use: as forecast, helm install and helm upgrade
// refuse it, and helm upgrade --install uses it again.
func TestNameOfUninstalledRelease(t *testing.T) {
	s := newSite(t, "reused")
	chart := folder(t, with(note))
	s.helm.Run(t, "install", "web", chart, "-n", s.namespace)
	s.helm.Run(t, "uninstall", "web", "-n", s.namespace, "--keep-history")
	if status, out, message := s.plugin(t, "releases", "web"); status != 2 || !strings.Contains(message, "not found") {
		t.Errorf("without a chart: exit status %d: %s%s", status, out, message)
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
