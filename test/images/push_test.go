package images

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// checkPush does what a release and docs/air-gapped.md do: it pushes the images unchanged to a
// registry, with their digests and all platforms, and pulls them again.
func checkPush(t *testing.T, dist string) {
	t.Helper()
	run(t, root(t), "make", "bin/crane")
	crane := filepath.Join(root(t), "bin", "crane")
	address := serveRegistry(t, crane)
	built := read(t, filepath.Join(dist, "digests.txt"))
	// The same images for that registry.
	local := strings.ReplaceAll(built, registry, address+"/mirror")
	mirror := t.TempDir()
	if err := os.CopyFS(filepath.Join(mirror, "images"), os.DirFS(filepath.Join(dist, "images"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mirror, "digests.txt"), []byte(local), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := run(t, root(t), "make", "--silent", "push-images", "DIST="+mirror); got != local {
		t.Errorf("pushed %s, want %s", got, local)
	}
	for line := range strings.Lines(local) {
		tagged, digest, _ := strings.Cut(strings.TrimSpace(line), "@")
		name := strings.TrimSuffix(tagged, ":"+version)
		run(t, "", crane, "validate", "--remote", name+"@"+digest)
		dir := t.TempDir()
		run(t, "", crane, "pull", "--format", "oci", "--platform", "linux/arm64", name+"@"+digest, dir)
		var pulled indexFile
		parse(t, read(t, filepath.Join(dir, "index.json")), &pulled)
		var want string
		for _, m := range indexOf(t, filepath.Join(dist, "images", filepath.Base(name))).Manifests {
			if m.Platform.Architecture == "arm64" {
				want = m.Digest
			}
		}
		if len(pulled.Manifests) != 1 || pulled.Manifests[0].Digest != want {
			t.Errorf("pulled %+v, want %s", pulled.Manifests, want)
		}
	}
	// Another image is not accepted in place of the built one.
	other := strings.Replace(local, "@sha256:", "@sha256:0", 1)
	if err := os.WriteFile(filepath.Join(mirror, "digests.txt"), []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root(t), "test/tools/images/push.sh"), mirror, crane)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "but the registry has") {
		t.Errorf("%v: %s", err, out)
	}
}

func indexOf(t *testing.T, dir string) indexFile {
	t.Helper()
	var top, index indexFile
	parse(t, read(t, filepath.Join(dir, "index.json")), &top)
	parse(t, blob(t, dir, top.Manifests[0], "application/vnd.oci.image.index.v1+json"), &index)
	return index
}

// serveRegistry runs crane's in-memory registry on loopback until the test ends.
func serveRegistry(t *testing.T, crane string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), crane, "registry", "serve", "--address", "127.0.0.1:0")
	message, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(message)
	for lines.Scan() {
		if _, port, ok := strings.Cut(lines.Text(), "serving on port "); ok {
			go func() { // later output must not block it
				for lines.Scan() {
				}
			}()
			return "127.0.0.1:" + port
		}
	}
	t.Fatal("the registry ended: ", lines.Err())
	return ""
}

// A release's chart uses the release's image, and another one by tag, or by digest from any
// registry.
func TestChartPackage(t *testing.T) {
	circle.Full(t)
	var packages []string
	for range 2 {
		dist := t.TempDir()
		run(t, root(t), "make", "chart-package", "DIST="+dist, "VERSION=v"+version, "REGISTRY="+registry)
		packages = append(packages, filepath.Join(dist, "k8sconnect-"+version+".tgz"))
	}
	if a, b := read(t, packages[0]), read(t, packages[1]); a != b {
		t.Error("two packages of one commit differ")
	}
	helm := chart.NewHelm(t, "")
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for want, flags := range map[string][]string{
		registry + "/webhook:" + version:             nil,
		"registry.example/mirror/webhook:" + version: {"--set", "image.repository=registry.example/mirror/webhook"},
		registry + "/webhook:9":                      {"--set-string", "image.tag=9"},
		"registry.example/mirror/webhook@" + digest:  {"--set", "image.repository=registry.example/mirror/webhook,image.digest=" + digest},
	} {
		for _, o := range helm.RenderChart(t, packages[0], flags...) {
			if o.GetKind() != "Deployment" {
				continue
			}
			var d appsv1.Deployment
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
				t.Fatal(err)
			}
			if got := d.Spec.Template.Spec.Containers[0].Image; got != want {
				t.Errorf("%v: image %s, want %s", flags, got, want)
			}
			if got := d.Labels["app.kubernetes.io/version"]; got != version {
				t.Errorf("version %s, want %s", got, version)
			}
		}
	}
	if names, err := os.ReadDir(filepath.Dir(packages[0])); err != nil || len(names) != 1 {
		t.Errorf("folder of the package contains %v, %v, want only the package", names, err)
	}
}
