package releases_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// output writes what helm template prints for a chart, and returns the flag for it.
func (s *site) output(t *testing.T, chart string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "next.yaml")
	if err := os.WriteFile(path, []byte(s.helm.Run(t, "template", "web", chart, "-n", s.namespace)), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--chart-output=" + path
}

// The stored manifest is decoded as Helm does: an unquoted yes, no, on or y as a key is the key "true" or
// "false", and the last of two equal keys counts. Conflicts in them are found, the command settles them, and
// no other object becomes unknown.
func TestKeysThatHelmAccepts(t *testing.T) {
	for name, keys := range map[string]string{
		"y": "y: a", "yes": "Yes: a", "on": "on: a", "no": "no: a", "n": "n: a", "off": "OFF: a", "true": "true: a", "twice": "mode: b\n  mode: a",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "keys-"+name)
			s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
			chart := folder(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  "+keys+"\n"+rest)
			s.helm.Run(t, "install", "web", chart, "-n", s.namespace)
			data, _, _ := unstructured.NestedStringMap(s.live(t)["ConfigMap web"].Object, "data")
			if len(data) != 1 {
				t.Fatalf("data: %v", data)
			}
			for key := range data {
				s.merge(t, "ConfigMap", "kubectl-edit", `{"data": {"`+key+`": "hot"}}`)
				_, all, text := s.forecasts(t, "web")
				if f := all[0]; f.Forecast != "fails" || f.Objects != 2 || !slices.Equal(flat(f.Conflicts), []string{"ConfigMap .data." + key}) {
					t.Fatal(text)
				}
				s.run(t, all[0].Next[0], 0)
			}
			s.helm.Run(t, "upgrade", "web", chart, "-n", s.namespace)
			if status, _, text := s.forecasts(t, "web"); status != 0 {
				t.Error(text)
			}
		})
	}
}

// An object that Helm cannot decode is unknown. It hides no conflict of another one.
func TestInvalidObjectHidesNoOther(t *testing.T) {
	s := newSite(t, "invalid")
	s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
	s.helm.Run(t, "install", "web", folder(t, with(note)), "-n", s.namespace)
	odd := folder(t, with(note)+strings.Replace(with(note), "{name: web}", "{name: odd, labels: {port: 8080}}", 1))
	output := s.output(t, odd)
	if status, all, text := s.forecasts(t, "web", output); status != 2 || all[0].Forecast != "unknown" || all[0].Objects != 1 || len(all[0].Unread) != 1 {
		t.Errorf("exit status %d: %s", status, text)
	}
	s.merge(t, "ConfigMap", "kubectl-edit", `{"data": {"mode": "hot"}}`)
	status, all, text := s.forecasts(t, "web", output)
	if f := all[0]; status != 1 || f.Forecast != "fails" || len(flat(f.Conflicts)) != 1 || len(f.Unread) != 1 {
		t.Errorf("exit status %d: %s", status, text)
	}
	if _, err := s.helm.Try(t.Context(), "upgrade", "web", odd, "-n", s.namespace); err == nil || !strings.Contains(err.Error(), "unable to decode") {
		t.Errorf("helm: %v", err)
	}
}
