package releases_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
)

// Two releases of one name, in Secrets and in ConfigMaps, are distinguished, and each command settles its own.
func TestTwoStoragesOfOneName(t *testing.T) {
	s := newSite(t, "twice")
	s.kinds = map[string]schema.GroupVersionResource{"ConfigMap": gvr("", "v1", "configmaps")}
	in := func(driver string, args ...string) error {
		t.Helper()
		t.Setenv("HELM_DRIVER", driver)
		_, err := chart.NewHelm(t, s.KubeconfigPath).Try(t.Context(), append(args, "-n", s.namespace)...)
		return err
	}
	inSecrets := folder(t, with(note))
	inConfigMaps := folder(t, with(strings.Replace(note, "{name: web}", "{name: other}", 1)))
	if err := in("secret", "install", "web", inSecrets); err != nil {
		t.Fatal(err)
	}
	if err := in("configmap", "install", "web", inConfigMaps); err != nil {
		t.Fatal(err)
	}
	if err := in("configmap", "upgrade", "web", inConfigMaps); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"web", "other"} {
		_, err := s.of(s.kinds["ConfigMap"]).Patch(t.Context(), name, types.MergePatchType, []byte(`{"data": {"mode": "hot"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HELM_DRIVER", "")
	_, all, text := s.forecasts(t, "web")
	if len(all) != 2 || all[0].Driver != "secret" || all[1].Driver != "configmap" || all[0].Revision != 1 || all[1].Revision != 2 {
		t.Fatal(text)
	}
	for i, driver := range []string{"secret", "configmap"} {
		f, source := all[i], []string{inSecrets, inConfigMaps}[i]
		command, is := strings.CutPrefix(f.Next[0], "HELM_DRIVER="+driver+" ")
		if !is || f.Forecast != "fails" || !f.Twice {
			t.Fatalf("next: %q\n%s", f.Next, text)
		}
		if err := in(driver, "upgrade", "web", source); err == nil {
			t.Errorf("%s: the upgrade succeeds before the command", driver)
		}
		t.Setenv("HELM_DRIVER", driver)
		s.run(t, command, 0)
		if err := in(driver, "upgrade", "web", source); err != nil {
			t.Errorf("%s: after %s: %v", driver, f.Next[0], err)
		}
	}
	t.Setenv("HELM_DRIVER", "")
	if status, out, message := s.plugin(t, "releases"); status != 0 || strings.Count(out, "stored in ") != 2 {
		t.Errorf("exit status %d: %s%s", status, out, message)
	}
}
