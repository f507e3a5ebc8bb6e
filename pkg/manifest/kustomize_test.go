package manifest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKustomize(t *testing.T) {
	write(t, map[string]string{
		"app/kustomization.yaml": "namePrefix: my-\nnamespace: prod\nresources: [cm.yaml, ns.yaml]\nconfigMapGenerator:\n- name: gen\n  literals: [yes=on]\n  options: {disableNameSuffixHash: true}\n",
		"app/cm.yaml":            configMap("a") + "data: {on: \"yes\"}\n",
		"app/ns.yaml":            "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod}\n",
		"bad/kustomization.yaml": "resources: [nope.yaml]\n",
		"none/app.yaml":          configMap("a"),
	})
	res, err := Read(t.Context(), Options{Kustomize: "app"})
	if err != nil {
		t.Fatal(err)
	}
	// Objects have no line numbers. The lines of kustomize's output would not help, because the
	// output is not in a file.
	want := []string{"app Namespace/prod", "app ConfigMap/prod/my-a", "app ConfigMap/prod/my-gen"}
	if diff := cmp.Diff(want, places(res)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"yes": "on"}, res.Objects[2].Object.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	for _, dir := range []string{"bad", "none", "nope"} {
		_, err := Read(t.Context(), Options{Kustomize: dir})
		if got := lines(err); len(got) != 1 || !strings.HasPrefix(got[0], dir+": ") || strings.Contains(got[0], "\n") {
			t.Errorf("%s: %q, want one line that begins with the folder", dir, got)
		}
	}
}

// Charts are not inflated. The hint names the command that inflates them.
func TestKustomizeWithHelmCharts(t *testing.T) {
	write(t, map[string]string{
		"app/kustomization.yaml": "helmCharts:\n- {name: game, releaseName: test, version: 3.1.3, repo: 'https://charts.example.com'}\n",
	})
	_, err := Read(t.Context(), Options{Kustomize: "app"})
	const want = "to inflate charts: kubectl kustomize --enable-helm DIR"
	if fault, ok := errors.AsType[*inputError](err); !ok || !strings.HasPrefix(fault.Hint(), want) {
		t.Errorf("%#v", err)
	}
}

// Kustomize quotes URLs with their passwords and tokens, which must be masked.
func TestKustomizeURLIsShownWithoutItsSecrets(t *testing.T) {
	write(t, map[string]string{"app/kustomization.yaml": "resources: ['https://me:secret@127.0.0.1:1/x.yaml?token=secret']\n"})
	for _, name := range []string{
		"app", "https://me:secret@127.0.0.1:1/x.git//a?ref=b", "https://secret@127.0.0.1:1/x.git//a?ref=b",
		"https://127.0.0.1:1/x?token=secret&ref=v1", "git::https://me:secret@127.0.0.1:1/x.git?token=secret",
	} {
		_, err := Read(t.Context(), Options{Kustomize: name})
		if message := strings.Join(lines(err), "\n"); message == "" || strings.Contains(message, "secret") {
			t.Errorf("%s: %s", name, message)
		}
	}
}
