package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hook(kind, name, moments string) string {
	return "apiVersion: v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n  annotations:\n    helm.sh/hook: " + moments + "\n---\n"
}

// A rendered chart contains its hooks. The options decide which hooks are applied. Tests and hooks
// of a delete are never applied.
func TestHooks(t *testing.T) {
	chart := strings.Join([]string{
		configMap("web") + "---\n",
		hook("Job", "migrate", "pre-install, Pre-Upgrade"),
		hook("Pod", "probe", "test"),
		hook("Pod", "old-probe", "test-success"),
		hook("Job", "purge", "pre-delete"),
		hook("Job", "undo", "post-rollback"),
		hook("Secret", "both", "pre-delete,post-install"),
		hook("Job", "unheard-of", "sometimes"),
		hook("Job", "nameless", `""`),
		strings.Replace(hook("CustomResourceDefinition", "helm2", "crd-install"), "v1", "apiextensions.k8s.io/v1", 1),
		hook("ConfigMap", "no-definition", "crd-install"),
	}, "")
	write(t, map[string]string{"chart.yaml": chart})

	const always = "ConfigMap/web CustomResourceDefinition/helm2"
	skipped := []string{
		"configmap/no-definition [crd-install]",
		"job/migrate [pre-install pre-upgrade], applicable",
		"job/nameless []",
		"job/purge [pre-delete]",
		"job/undo [post-rollback]",
		"job/unheard-of [sometimes]",
		"pod/old-probe [test-success]",
		"pod/probe [test]",
		"secret/both [pre-delete post-install], applicable",
	}
	for name, test := range map[string]struct {
		hooks   Hooks
		objects string
		hooked  []string
	}{
		"skip": {HooksSkip, always, skipped},
		"apply": {HooksApply, "ConfigMap/web CustomResourceDefinition/helm2 Job/migrate Secret/both", except(skipped,
			"job/migrate [pre-install pre-upgrade], applicable", "secret/both [pre-delete post-install], applicable")},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := Read(t.Context(), Options{Filenames: []string{"chart.yaml"}, Hooks: test.hooks})
			if err != nil {
				t.Fatal(err)
			}
			var objects, hooked []string
			for _, m := range in.Objects {
				objects = append(objects, m.Object.GetKind()+"/"+m.Object.GetName())
			}
			for _, h := range in.Hooks {
				text := fmt.Sprint(h.Ref, " ", h.On)
				if h.Applicable() {
					text += ", applicable"
				}
				hooked = append(hooked, text)
			}
			if got := strings.Join(sorted(objects), " "); got != test.objects {
				t.Errorf("objects %s, want %s", got, test.objects)
			}
			if diff := cmp.Diff(test.hooked, sorted(hooked)); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("error", func(t *testing.T) {
		in, err := Read(t.Context(), Options{Filenames: []string{"chart.yaml"}, Hooks: HooksError})
		if got := joined(err); len(got) != len(skipped) || got[0] != "chart.yaml:6: job/migrate is a Helm hook (pre-install, pre-upgrade)" {
			t.Errorf("faults %q", got)
		}
		if len(in.Hooks) > 0 {
			t.Errorf("%d hooks are reported as skipped besides the errors, want none", len(in.Hooks))
		}
	})
}

// An input with only hooks has a special error.
func TestOnlyHooks(t *testing.T) {
	const message = "the input contains only Helm hooks, which were skipped"
	for moments, want := range map[string][]string{
		"test":        {message},
		"pre-install": {message, "  --helm-hooks=apply applies install and upgrade hooks as objects"},
	} {
		write(t, map[string]string{"chart.yaml": hook("Pod", "probe", moments)})
		in, err := Read(t.Context(), Options{Filenames: []string{"chart.yaml"}})
		if diff := cmp.Diff(want, lines(err)); diff != "" || len(in.Hooks) != 1 {
			t.Errorf("%s: got %d hooks, errors (-want +got):\n%s", moments, len(in.Hooks), diff)
		}
	}
}

// Objects that the selector does not match are not reported as hooks.
func TestSelectorExcludesHooks(t *testing.T) {
	labelled := strings.Replace(configMap("web"), "  name: web", "  name: web\n  labels: {app: web}", 1)
	write(t, map[string]string{"chart.yaml": labelled + "---\n" + hook("Pod", "probe", "test")})
	in, err := Read(t.Context(), Options{Filenames: []string{"chart.yaml"}, Selector: "app=web", Hooks: HooksError})
	if err != nil || len(in.Hooks) > 0 || len(in.Objects) != 1 {
		t.Errorf("%d objects, %d hooks, %v", len(in.Objects), len(in.Hooks), err)
	}
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }

func except(all []string, but ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(but, one) })
}
