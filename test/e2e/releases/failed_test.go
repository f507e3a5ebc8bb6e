package releases_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An object that only a failed revision contains is named. If the next manifest lacks it, as here after the chart is
// reverted, Helm neither updates nor deletes it, even when it uninstalls the release.
func TestObjectsOfFailedRevisions(t *testing.T) {
	s := newSite(t, "orphans")
	s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps"), "Deployment": gvr("apps", "v1", "deployments")}
	extra := strings.Replace(note, "{name: web}", "{name: extra}", 1)
	good := folder(t, with(note+"---"+workload))
	s.helm.Run(t, "install", "web", good, "-n", s.namespace)
	bad := folder(t, with(note+extra+"---"+workload, "VERSION", "2")) // Its selector is immutable.
	if _, err := s.helm.Try(t.Context(), "upgrade", "web", bad, "-n", s.namespace); err == nil {
		t.Fatal("the upgrade succeeds")
	}
	want := func(when string, args []string, listed ...bool) {
		t.Helper()
		_, all, text := s.forecasts(t, append([]string{"web"}, args...)...)
		var got []bool
		for _, o := range all[0].Orphans {
			if o.Name == "extra" && o.Revision == 2 {
				got = append(got, o.Listed)
			}
		}
		if !slices.Equal(got, listed) || len(all[0].Orphans) != len(listed) || len(all[0].Deletes) != 0 {
			t.Errorf("%s: orphans %v, want %v\n%s", when, got, listed, text)
		}
	}
	want("the failed manifest", nil, true)
	want("the reverted chart", []string{s.output(t, good)}, false)
	want("the corrected chart", []string{s.output(t, folder(t, with(note+extra+"---"+workload)))}, true)
	s.helm.Run(t, "upgrade", "web", good, "-n", s.namespace)
	if s.live(t)["ConfigMap extra"] == nil {
		t.Error("Helm deletes the object")
	}
	want("after the reverted chart", nil, false)
	if status, out, message := s.plugin(t, "releases"); status != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "only revision 2, which failed, contains it; Helm neither updates nor deletes it") {
		t.Errorf("exit status %d: %s%s", status, out, message)
	}
	if _, err := s.helm.Try(t.Context(), "upgrade", "web", folder(t, with(note+strings.ReplaceAll(extra, "extra", "other")+"---"+workload, "VERSION", "2")), "-n", s.namespace); err == nil {
		t.Fatal("the upgrade succeeds")
	}
	s.helm.Run(t, "rollback", "web", "3", "-n", s.namespace) // It compares with the failed revision.
	if live := s.live(t); live["ConfigMap other"] != nil || live["ConfigMap extra"] == nil {
		t.Errorf("after the rollback: %v", live)
	}
	s.helm.Run(t, "uninstall", "web", "-n", s.namespace)
	if live := s.live(t); live["ConfigMap extra"] == nil || live["ConfigMap web"] != nil {
		t.Errorf("after the uninstall: %v", live)
	}
}
