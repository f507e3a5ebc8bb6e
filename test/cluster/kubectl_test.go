package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The served kubectl has the same output as kubectl, and passes on what it cannot run itself.
func TestServedKubectl(t *testing.T) {
	t.Parallel()
	c := ForTest(t, Options{}) // In a shared cluster, errors of other tests are in the server's log.
	real := filepath.Join(c.binaries, kubectlProgram)
	programs := map[string]string{"served": c.Binary(kubectlProgram), "itself": real}
	if programs["served"] == real {
		t.Skip("kubectl is not served here")
	}
	dir := t.TempDir()
	manifest := "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}\n"
	if err := os.WriteFile(filepath.Join(dir, "cm.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for namespace := range programs {
		if err := c.CreateNamespace(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
	}
	const managers = "jsonpath={.metadata.managedFields[*]['manager', 'operation', 'subresource']}"
	for _, args := range [][]string{
		{"create", "configmap", "b", "--from-literal=a=1"},
		{"create", "configmap", "b", "--from-literal=a=1"},
		{"apply", "-f", "cm.yaml"},
		{"apply", "-f", "-"},
		{"apply", "--server-side", "-f", "cm.yaml"},
		{"apply", "--server-side", "--field-manager=x", "-f-"},
		{"patch", "cm", "a", "--type=merge", "-p", `{"data":{"y":"2"}}`},
		{"label", "cm", "a", "q=1"},
		{"annotate", "cm/a", "q=1"},
		{"replace", "-f", "cm.yaml"},
		{"create", "deployment", "d", "--image=x"},
		{"scale", "deploy/d", "--replicas=3"},
		{"set", "image", "deployment/d", "x=y"},
		{"get", "cm", "-o", "name"},
		{"get", "cm", "a", "-o", managers},
		{"get", "deployment", "d", "-o", managers},
		{"get", "cm", "none"},
		{"get", "none"},
		{"get", "cm", "--none"},
		{"get", "--help"},
		{"get", "cm", "--as=nobody"},
		{"get", "--raw", "/readyz"},
		{"get", "poddisruptionbudgets.v1beta1.policy"},
		{"none"},
		{"__complete", "get", "config"},
		{"auth", "can-i", "get", "pods"},
		{"wait", "--for=condition=Available", "deployment/d", "--timeout=1s"},
		{"apply", "-f", "none.yaml"},
		{"delete", "cm", "a", "b"},
		{"delete", "cm", "a"},
		{"wait", "--for=delete", "cm/a", "--timeout=1s"},
	} {
		message := map[string]string{}
		for namespace, program := range programs {
			cmd := exec.CommandContext(t.Context(), program, append(args, "-n", namespace, "--kubeconfig", c.KubeconfigPath)...)
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(manifest)
			out, _ := cmd.CombinedOutput()
			words := strings.Fields(strings.ReplaceAll(string(out), namespace, "NS"))
			slices.Sort(words) // entries with the same second are in any order
			message[namespace] = strings.Join(words, " ") + " " + cmd.ProcessState.String()
		}
		if message["served"] != message["itself"] {
			t.Errorf("kubectl %q\n  served: %s\n  itself: %s", args, message["served"], message["itself"])
		}
	}
	alone := t.TempDir() // without a program for what the server declines
	client := must[[]byte](t)(os.ReadFile(programs["served"]))
	if err := errors.Join(os.WriteFile(filepath.Join(alone, "kubectl"), client, 0o700),
		os.Symlink(filepath.Join(filepath.Dir(programs["served"]), "kubectl.sock"), filepath.Join(alone, "kubectl.sock"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(alone, "kubectl"), "get", "namespace", "served", "-o", "name", "--kubeconfig", c.KubeconfigPath)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "namespace/served\n" {
		t.Errorf("the server does not run a get: %v %s", err, out)
	}
	if log := must[[]byte](t)(os.ReadFile(filepath.Join(c.Dir, kubectlServer+".log"))); len(log) > 0 {
		t.Errorf("the log of the kubectl server is not empty: %s", log)
	}
}
