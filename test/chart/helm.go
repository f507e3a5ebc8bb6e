package chart

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// EnvHelm is the variable that names another Helm to test with.
const EnvHelm = "HELM_E2E"

// Helm runs the program with its own folders, so that the user's settings do not affect it.
type Helm struct {
	binary string
	env    []string
}

// NewHelm returns Helm for the cluster of a kubeconfig, which may be empty if none is needed. With
// -short, it skips the test if Helm was not built.
func NewHelm(t testing.TB, kubeconfig string) *Helm {
	t.Helper()
	binary := os.Getenv(EnvHelm)
	if binary == "" {
		binary = filepath.Join(root(t), "bin", "helm")
	}
	if _, err := os.Stat(binary); err != nil {
		if testing.Short() {
			t.Skip("Helm was not built: make bin/helm")
		}
		t.Fatalf("%v; make bin/helm builds it", err)
	}
	home := t.TempDir()
	return &Helm{binary: binary, env: append(os.Environ(),
		"KUBECONFIG="+kubeconfig,
		"HELM_CACHE_HOME="+filepath.Join(home, "cache"),
		"HELM_CONFIG_HOME="+filepath.Join(home, "config"),
		"HELM_DATA_HOME="+filepath.Join(home, "data"),
	)}
}

// Dir returns the chart's folder.
func Dir(t testing.TB) string { return filepath.Join(root(t), "charts", "k8sconnect") }

// Try runs Helm and returns its stdout, or its stderr as an error.
func (h *Helm) Try(ctx context.Context, args ...string) (string, error) {
	out, _, err := h.run(ctx, args...)
	return out, err
}

func (h *Helm) run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, message bytes.Buffer
	cmd := exec.CommandContext(ctx, h.binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, &out, &message
	if err := cmd.Run(); err != nil {
		return "", "", fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(message.Bytes()))
	}
	return out.String(), message.String(), nil
}

// Run runs Helm, and fails the test if Helm fails.
func (h *Helm) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, _, err := h.run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Stderr is like Run, and returns stderr, such as warnings of the API server.
func (h *Helm) Stderr(t testing.TB, args ...string) string {
	t.Helper()
	_, message, err := h.run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// Render returns the objects of a release "release" in the namespace "home".
func (h *Helm) Render(t testing.TB, args ...string) []*unstructured.Unstructured {
	t.Helper()
	return h.RenderChart(t, Dir(t), args...)
}

// RenderChart renders another chart, from a folder or a package.
func (h *Helm) RenderChart(t testing.TB, chart string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	args = append([]string{"template", "release", chart, "--namespace", "home", "--kube-version", "1.37"}, args...)
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(h.Run(t, args...), "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, &o)
		}
	}
	return objects
}

// root returns the repository's folder. Tests run in the folder of their package.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "charts")); err == nil {
			return dir
		}
	}
	t.Fatal("the repository's root is not above this folder")
	return ""
}

// Source returns the folder of Helm's own source in the module cache, from which the program was
// built; empty if it is not there.
func (h *Helm) Source() string {
	info, err := buildinfo.ReadFile(h.binary)
	if err != nil {
		return ""
	}
	cache := os.Getenv("GOMODCACHE")
	if cache == "" {
		out, err := exec.Command("go", "env", "GOMODCACHE").Output()
		if err != nil {
			return ""
		}
		cache = strings.TrimSpace(string(out))
	}
	dir := filepath.Join(cache, filepath.FromSlash(info.Main.Path)+"@"+info.Main.Version)
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}
