package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// Two builds of one commit are equal to the byte and sound, in folders with different names and
// lengths, by users with different languages and time zones. The second circle builds one platform;
// the third builds all, without a shared build cache.
func TestRelease(t *testing.T) {
	circle.Full(t)
	here := Platform{"linux", runtime.GOARCH}
	platforms := []Platform{here}
	long := circle.Of(false, false, true)
	if long {
		platforms = Platforms()
	}
	one, other, elsewhere := clone(t, "one"), clone(t, "a/folder/of/another/length"), filepath.Join(t.TempDir(), "all of it")
	made(t, one, platforms, long, "TZ=Asia/Tokyo", "LC_ALL=C")
	made(t, other, platforms, long, "TZ=America/New_York", "USER=somebody", "LOGNAME=somebody", "GOAMD64=v3", "GOFLAGS=-buildvcs=true", "DIST="+elsewhere)
	same(t, filepath.Join(one, "dist"), elsewhere)

	stamp, err := ReadStamp(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("flawed archives are refused", func(t *testing.T) { flaws(t, one, here, stamp) })
	if runtime.GOOS == "linux" {
		t.Run("krew installs it", func(t *testing.T) { installed(t, filepath.Join(one, "dist"), here, stamp) })
	}
}

// A release is written to the named folder, unless git would treat it as source, and removes
// nothing that it did not create.
func TestReleaseFolder(t *testing.T) {
	dist := t.TempDir()
	mine := filepath.Join(dist, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, says := range map[string]string{dist: dist + " is not empty", "x": "x is in the source tree"} {
		cmd := exec.CommandContext(t.Context(), "make", "release", "DIST="+folder)
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), "MAKEFLAGS=")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v\n%s", folder, err, out)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

// clone copies the repository with its history and its current files.
func clone(t *testing.T, name string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), name)
	run(t, root, nil, "git", "clone", "-q", "--no-hardlinks", root, dir)
	run(t, root, nil, "sh", "-c", `git ls-files -z --deleted | (cd "$0" && xargs -0 -r rm -f)`, dir)
	run(t, root, nil, "sh", "-c", `git ls-files -z -m -o --exclude-standard | xargs -0 -r sh -c 'd=$0; for f; do [ -e "$f" ] || continue; mkdir -p "$d/$(dirname "$f")"; cp -p "$f" "$d/$f"; done' "$0"`, dir)
	return dir
}

func made(t *testing.T, dir string, platforms []Platform, fresh bool, env ...string) {
	t.Helper()
	var words []string
	for _, p := range platforms {
		words = append(words, p.String())
	}
	env = append(env, "PLATFORMS="+strings.Join(words, " "), "MAKEFLAGS=", "VERSION=", "RELEASE_TOO=")
	if fresh {
		env = append(env, "GOCACHE="+t.TempDir())
	}
	run(t, dir, env, "make", "release")
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// same requires two folders to contain the same files.
func same(t *testing.T, one, other string) {
	t.Helper()
	files := func(root string) (names []string) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name, _ := filepath.Rel(root, path)
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	names := files(one)
	if got := files(other); len(names) == 0 || !slices.Equal(names, got) {
		t.Fatalf("files are %q, want %q", got, names)
	}
	for _, name := range names {
		if err := sameFile(read(t, filepath.Join(one, name)), filepath.Join(other, name)); err != nil {
			t.Error(err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// flaws adds one flaw at a time to an archive, and requires the inspection to fail.
func flaws(t *testing.T, root string, p Platform, stamp Stamp) {
	dist := filepath.Join(root, "dist")
	entries, err := unpack(p.archive(stamp.Version), read(t, filepath.Join(dist, p.archive(stamp.Version))))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkEntries(root, entries, p, stamp); err != nil {
		t.Fatal(err)
	}
	const licence, notice, plugin = 0, 1, 2 // sorted by name
	for name, flaw := range map[string]func(e []entry) []entry{
		"no licence":               func(e []entry) []entry { return e[1:] },
		"another licence":          func(e []entry) []entry { e[licence].Data = []byte("MIT"); return e },
		"absolute path":            func(e []entry) []entry { e[licence].Name = "/LICENSE"; return e },
		"an extra file":            func(e []entry) []entry { return append(e, entry{Name: "a", Mode: 0o644}) },
		"a duplicate file":         func(e []entry) []entry { return append(e, e[licence]) },
		"not executable":           func(e []entry) []entry { e[plugin].Mode = 0o644; return e },
		"writable by all":          func(e []entry) []entry { e[licence].Mode = 0o666; return e },
		"a link":                   func(e []entry) []entry { e[licence].Mode |= fs.ModeSymlink; return e },
		"time of build":            func(e []entry) []entry { e[plugin].time = e[plugin].time.Add(time.Hour); return e },
		"a user":                   func(e []entry) []entry { e[plugin].uid = 1000; return e },
		"a user's name":            func(e []entry) []entry { e[plugin].names = "somebody"; return e },
		"notices lack Go":          func(e []entry) []entry { e[notice].Data = []byte("  k8s.io/client-go v1"); return e },
		"not a program":            func(e []entry) []entry { e[plugin].Data = []byte("#!/bin/sh\n"); return e },
		"another platform":         func(e []entry) []entry { e[plugin].Data[18] ^= 0xff; return e },
		"path of the build folder": func(e []entry) []entry { e[plugin].Data = append(e[plugin].Data, root...); return e },
		"another version": func(e []entry) []entry {
			e[plugin].Data = bytes.ReplaceAll(e[plugin].Data, []byte(stamp.Version), bytes.Repeat([]byte("x"), len(stamp.Version)))
			return e
		},
		"too large": func(e []entry) []entry {
			e[plugin].Data = append(e[plugin].Data, make([]byte, largest)...)
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := slices.Clone(entries)
			changed[plugin].Data = bytes.Clone(entries[plugin].Data)
			if err := checkEntries(root, flaw(changed), p, stamp); err == nil {
				t.Error("the flaw was not found")
			}
		})
	}
	t.Run("another checksum", func(t *testing.T) {
		bad := t.TempDir()
		if err := os.CopyFS(bad, os.DirFS(dist)); err != nil {
			t.Fatal(err)
		}
		if err := checkSums(bad, stamp.Version); err != nil {
			t.Fatal(err)
		}
		if err := write(bad, "krew-manifest.yaml", []byte("changed")); err != nil {
			t.Fatal(err)
		}
		if err := checkSums(bad, stamp.Version); err == nil {
			t.Error("the changed file was not found")
		}
	})
}

// installed does what krew does with this platform's archive, follows the manifest's caveats, and
// calls the plugin through kubectl.
func installed(t *testing.T, dist string, p Platform, stamp Stamp) {
	m, err := readManifest([]byte(manifest(stamp.Version, all(t, dist, p, stamp))))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(m.Spec.Platforms, func(k krewPlatform) bool { return k.platform() == p })
	if err := m.Spec.Platforms[i].install(dist); err != nil {
		t.Fatal(err)
	}
	krew := t.TempDir()
	bin, store := filepath.Join(krew, "bin"), filepath.Join(krew, "store", m.Metadata.Name, stamp.Version)
	for _, dir := range []string{bin, store} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, store, nil, "tar", "-xzf", filepath.Join(dist, p.archive(stamp.Version)))
	if err := os.Symlink(filepath.Join(store, m.Spec.Platforms[i].Bin), filepath.Join(bin, program)); err != nil {
		t.Fatal(err)
	}
	path := []string{"KREW_ROOT=" + krew, "KUBECONFIG=/dev/null", "PATH=" + bin + ":" + kubectlDir(t) + ":" + os.Getenv("PATH")}
	out := run(t, krew, path, "kubectl", "k8sconnect", "version", "--client", "-o", "json")
	for _, part := range []string{stamp.Version, stamp.Commit, stamp.At.Format(time.RFC3339)} {
		if !strings.Contains(out, `"`+part+`"`) {
			t.Errorf("no %q in %s", part, out)
		}
	}
	var steps []string
	for line := range strings.Lines(m.Spec.Caveats) {
		if command, ok := strings.CutPrefix(line, "  "); ok {
			steps = append(steps, command)
		}
	}
	if len(steps) != 1 {
		t.Fatalf("caveats have the steps %q, want one", steps)
	}
	run(t, krew, path, "sh", "-c", steps[0])
	if out := run(t, krew, path, "kubectl", "__complete", "k8sconnect", "app"); !strings.Contains(out, "\napply\t") {
		t.Errorf("completions are %q, want apply", out)
	}
}

// all returns a checksum for each platform: the real one for the built platform, and placeholders
// for the others.
func all(t *testing.T, dist string, p Platform, stamp Stamp) map[Platform]string {
	t.Helper()
	sums := map[Platform]string{p: sha256Of(read(t, filepath.Join(dist, p.archive(stamp.Version))))}
	for _, other := range Platforms() {
		if other != p {
			sums[other] = strings.Repeat("0", 64)
		}
	}
	return sums
}

// kubectlDir returns the folder of the control plane's kubectl, and builds it if necessary.
func kubectlDir(t *testing.T) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(run(t, "../..", nil, "go", "run", "./test/cluster/cmd/controlplane", "bin")), "\n")
	return lines[len(lines)-1]
}
