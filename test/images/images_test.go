// Package images tests the output of `make images` and `make chart-package` with common tools. It
// shares no code with the program that writes the images.
package images

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

const (
	version  = "1.2.3-test.1"
	registry = "registry.example/team"
)

var programs = []string{"kubectl-k8sconnect", "webhook"}

var platforms = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// TestImages builds the images once for all subtests.
func TestImages(t *testing.T) {
	circle.Full(t)
	dist := makeImages(t)
	for _, program := range programs {
		t.Run(program, func(t *testing.T) { checkImage(t, dist, program) })
	}
	t.Run("authorities", func(t *testing.T) { checkAuthorities(t, dist) })
	t.Run("job", func(t *testing.T) { checkJob(t, dist) })
	t.Run("push", func(t *testing.T) { checkPush(t, dist) })
	t.Run("reproducible", func(t *testing.T) {
		first, second := hashes(t, dist), hashes(t, makeImages(t))
		if diff := cmp.Diff(first, second); diff != "" || len(first) < 10 {
			t.Errorf("two builds of one commit differ, of %d files:\n%s", len(first), diff)
		}
	})
}

// makeImages runs make, as a release does, and returns the output folder.
func makeImages(t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	run(t, root(t), "make", "images", "DIST="+dist, "VERSION=v"+version, "REGISTRY="+registry)
	return dist
}

// checkImage checks an image's contents, and runs its program.
func checkImage(t *testing.T, dist, program string) {
	t.Helper()
	index := openLayout(t, filepath.Join(dist, "images", program))
	digests := read(t, filepath.Join(dist, "digests.txt"))
	if line := registry + "/" + program + ":" + version + "@" + index.digest + "\n"; !strings.Contains(digests, line) {
		t.Errorf("digests.txt lacks %q:\n%s", line, digests)
	}
	got := slices.Sorted(maps.Keys(index.images))
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, got); diff != "" {
		t.Error(diff)
	}
	for arch, machine := range platforms {
		img := index.images["linux/"+arch]
		img.checkConfig(t, program, arch)
		fs := t.TempDir()
		img.unpack(t, fs)
		checkLicenses(t, fs, program)
		checkStatic(t, filepath.Join(fs, program), machine)
		if arch == runtime.GOARCH && runtime.GOOS == "linux" {
			checkRuns(t, fs, img.config.Config.Entrypoint[0], img.config.Config.Env)
		}
		checkDockerArchive(t, filepath.Join(dist, program+"_v"+version+"_linux_"+arch+".docker.tar"),
			registry+"/"+program+":"+version, img)
	}
	// The same layout in one file.
	dir := t.TempDir()
	untar(t, filepath.Join(dist, program+"_v"+version+".oci.tar"), dir)
	if digest := openLayout(t, dir).digest; digest != index.digest {
		t.Errorf("the digest in the file is %s, want that of the folder, %s", digest, index.digest)
	}
}

func (i image) checkConfig(t *testing.T, program, arch string) {
	t.Helper()
	c := i.config
	if c.OS != "linux" || c.Architecture != arch || c.Config.User != "65532:65532" ||
		!slices.Equal(c.Config.Entrypoint, []string{"/" + program}) {
		t.Errorf("config of %s: %+v", arch, c)
	}
	commit := strings.TrimSpace(run(t, root(t), "git", "log", "-1", "--format=%H", "--", ".", ":(exclude)krew-manifest.yaml"))
	for key, want := range map[string]string{
		"source":   "https://github.com/k8sconnect/kubectl-k8sconnect",
		"version":  version,
		"revision": commit,
		"licenses": "Apache-2.0",
	} {
		key = "org.opencontainers.image." + key
		if got := c.Config.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
		if got := i.manifest.Annotations[key]; got != want {
			t.Errorf("annotation %s is %q, want %q", key, got, want)
		}
	}
}

// checkLicenses requires our license, and the notices of everything that is linked into the image's
// program, so they differ between images.
func checkLicenses(t *testing.T, fs, program string) {
	t.Helper()
	if got, want := read(t, filepath.Join(fs, "licenses/LICENSE")), read(t, filepath.Join(root(t), "LICENSE")); got != want {
		t.Error("another license")
	}
	notices := read(t, filepath.Join(fs, "licenses/THIRD_PARTY_NOTICES"))
	for module, want := range map[string]bool{
		"k8s.io/client-go ":               true,
		"sigs.k8s.io/kustomize/api ":      program == "kubectl-k8sconnect",
		"sigs.k8s.io/controller-runtime ": program == "webhook",
	} {
		if strings.Contains(notices, module) != want {
			t.Errorf("%s: the notices name %s: %t, want %t", program, module, !want, want)
		}
	}
}

// checkStatic fails if a program needs more than the kernel, or another machine.
func checkStatic(t *testing.T, path string, machine elf.Machine) {
	t.Helper()
	program, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if program.Machine != machine {
		t.Errorf("%s is for %s, want %s", path, program.Machine, machine)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s is linked dynamically", path)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%s: %v, %v", path, info.Mode(), err)
	}
}

// checkRuns runs an image's program in the image only and as its user, if this process may do that;
// otherwise in place.
func checkRuns(t *testing.T, fs, entrypoint string, env []string) {
	t.Helper()
	args := map[string][]string{
		"/kubectl-k8sconnect": {"version", "--client"},
		"/webhook":            {"--version"},
	}[entrypoint]
	cmd := exec.CommandContext(t.Context(), filepath.Join(fs, entrypoint), args...)
	if os.Geteuid() == 0 {
		cmd = inImage(t, fs, entrypoint, args...)
	}
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "v"+version) {
		t.Errorf("%s %s: %v\n%s", entrypoint, strings.Join(args, " "), err, out)
	}
}

// inImage returns a command that runs with a folder as its root and as the image's user. Only root
// may start it.
func inImage(t *testing.T, fs, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: fs, Credential: &syscall.Credential{Uid: 65532, Gid: 65532},
	}
	// The test's folders are private; the image's root is not.
	for dir := fs; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return cmd
}

// checkAuthorities checks the CA certificates: the plugin reads manifests over HTTPS, and clusters
// may have public certificates.
func checkAuthorities(t *testing.T, dist string) {
	t.Helper()
	fs := t.TempDir()
	openLayout(t, filepath.Join(dist, "images", "kubectl-k8sconnect")).images["linux/amd64"].unpack(t, fs)
	bundle := read(t, filepath.Join(fs, "etc/ssl/certs/ca-certificates.crt")) // where Go looks first
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(bundle)) {
		t.Fatal("no certificates in the image")
	}
	if n := strings.Count(bundle, "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("%d certificate authorities, want at least 100", n)
	}
	for path, want := range map[string]os.FileMode{"home/nonroot": 0o750, "tmp": 0o777} {
		if info, err := os.Stat(filepath.Join(fs, path)); err != nil || !info.IsDir() || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if !strings.Contains(read(t, filepath.Join(fs, "etc/passwd")), "nonroot:x:65532:65532:") {
		t.Error("the user has no name")
	}
}

func checkDockerArchive(t *testing.T, path, tag string, want image) {
	t.Helper()
	dir := t.TempDir()
	untar(t, path, dir)
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "manifest.json"))), &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || !slices.Equal(manifest[0].RepoTags, []string{tag}) || len(manifest[0].Layers) != len(want.manifest.Layers) {
		t.Fatalf("%s: %+v, want %s with %d layers", path, manifest, tag, len(want.manifest.Layers))
	}
	// Docker identifies an image by the digest of its config.
	if got := "sha256:" + sum([]byte(read(t, filepath.Join(dir, manifest[0].Config)))); got != want.manifest.Config.Digest {
		t.Errorf("%s: config %s, want %s", path, got, want.manifest.Config.Digest)
	}
	for i, layer := range manifest[0].Layers {
		if got := "sha256:" + sum([]byte(read(t, filepath.Join(dir, layer)))); got != want.manifest.Layers[i].Digest {
			t.Errorf("%s: layer %d is %s, want %s", path, i, got, want.manifest.Layers[i].Digest)
		}
	}
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

// hashes returns the hashes of all files in a folder.
func hashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for path := range walk(t, dir) {
		relative, _ := filepath.Rel(dir, path)
		all[relative] = sum([]byte(read(t, path)))
	}
	return all
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaint
	// Not the make that may run this test.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS=")
	})
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), complaint.String())
	}
	return out.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// root is the repository's folder: Go runs a test in its package's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
