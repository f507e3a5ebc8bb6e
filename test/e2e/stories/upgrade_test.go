package stories_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
)

// Story 7, the upgrade: before a cluster goes to another release, the team wants to know which files,
// releases and living writers use what goes by then, and a number that falls to zero in CI.
func TestUpgrade(t *testing.T) {
	c := shared.Cluster(t)
	helm := chart.NewHelm(t, c.KubeconfigPath)
	const namespace = "upgraded"
	kubectl(t, c, "", "create", "namespace", namespace)
	t.Cleanup(func() { // stories share a cluster: clean up
		_ = exec.Command(c.Binary("kubectl"), "--kubeconfig", c.KubeconfigPath, "delete", "--ignore-not-found", "--wait=false",
			"namespace/"+namespace, "customresourcedefinition/sails.upgrade.example.com").Run()
	})
	kubectl(t, c, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sails.upgrade.example.com}
spec:
  group: upgrade.example.com
  scope: Namespaced
  names: {kind: Sail, plural: sails, singular: sail}
  versions:
  - {name: v1, served: true, storage: true, schema: &any {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta1, served: true, storage: false, deprecated: true, schema: *any}
`, "apply", "-f", "-")
	kubectl(t, c, "", "wait", "--for=condition=Established", "crd/sails.upgrade.example.com", "--timeout=10m")
	sail := func(version, name string) string {
		return fmt.Sprintf("{apiVersion: upgrade.example.com/%s, kind: Sail, metadata: {name: %s, namespace: %s}, spec: {size: 1}}", version, name, namespace)
	}
	until(t, "Sails are served", func() bool {
		cmd := exec.Command(c.Binary("kubectl"), "--kubeconfig", c.KubeconfigPath, "apply", "--server-side", "--field-manager=sail-operator", "-f", "-")
		cmd.Stdin = strings.NewReader(sail("v1beta1", "living"))
		return cmd.Run() == nil
	}, func() string { return "" })

	// Three users of what goes: a file in Git, a deployed release, and an operator that still writes.
	folder := t.TempDir()
	budget := filepath.Join(folder, "budget.yaml")
	file := func(version string) {
		text := "apiVersion: policy/" + version + "\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n"
		if err := os.WriteFile(budget, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file("v1beta1")
	release := func(version string) string {
		dir := filepath.Join(t.TempDir(), "chart")
		for name, text := range map[string]string{
			"Chart.yaml": "{apiVersion: v2, name: mast, version: 0.1.0}", "templates/sail.yaml": sail(version, "released"),
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	helm.Run(t, "install", "mast", release("v1beta1"), "-n", namespace)
	ask := []string{"deprecated", "-A", "--helm-releases", "-f", folder, "--release=1.38"}
	type use struct {
		Name         string
		Goes         bool
		Use          string
		Sources      []string
		Writers      []struct{ Manager string }
		HelmReleases []struct{ Name string }
	}
	uses := func(status int) map[string]use {
		var found struct{ Objects []use }
		out := call(t, status, c.KubeconfigPath, "", append(ask, "-o", "json")...).stdout.String()
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		all := map[string]use{}
		for _, u := range found.Objects {
			all[u.Name] = u
		}
		return all
	}
	before := uses(1)
	if u := before["web"]; !u.Goes || u.Use != "policy/v1/PodDisruptionBudget" || len(u.Sources) != 1 || !strings.HasSuffix(u.Sources[0], "budget.yaml:1") {
		t.Errorf("the file: %+v", u)
	}
	if u := before["living"]; len(u.Writers) != 1 || u.Writers[0].Manager != "sail-operator" {
		t.Errorf("the living writer: %+v", u)
	}
	if u := before["released"]; len(u.HelmReleases) != 1 || u.HelmReleases[0].Name != "mast" {
		t.Errorf("the release: %+v", u)
	}
	says(t, call(t, 1, c.KubeconfigPath, "", ask...).stdout.String(), "1 file blocking 1.38")

	// Each of them is mended, and the number falls to zero: first what blocks, then the rest.
	file("v1")
	says(t, call(t, 0, c.KubeconfigPath, "", ask...).stdout.String(), "nothing uses an API that 1.38 removes")
	if left := uses(0); left["web"].Goes || left["living"].Name == "" || left["released"].Name == "" {
		t.Errorf("only the file was mended: %+v", left)
	}
	helm.Run(t, "upgrade", "mast", release("v1"), "-n", namespace)
	kubectl(t, c, sail("v1", "living"), "apply", "--server-side", "--field-manager=sail-operator", "-f", "-")
	after := uses(0)
	for _, name := range []string{"web", "living", "released"} {
		if u, found := after[name]; found {
			t.Errorf("it was mended: %+v", u)
		}
	}
}
