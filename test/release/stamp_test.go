package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repo is a small repository that contains stamp.sh.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	r := repo{t, t.TempDir()}
	script, err := os.ReadFile("stamp.sh")
	if err != nil {
		t.Fatal(err)
	}
	r.write("test/release/stamp.sh", string(script))
	return r
}

func (r repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-02T03:04:05+02:00", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) commit(name, text string) string {
	r.t.Helper()
	r.write(name, text)
	r.git("add", "-A")
	r.git("commit", "-q", "-m", name)
	return r.git("rev-parse", "HEAD")
}

// stamp returns version, commit and date.
func (r repo) stamp(env ...string) (string, string, string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "test/release/stamp.sh")
	cmd.Dir, cmd.Env = r.dir, append(append(os.Environ(), "VERSION=", "TZ=Asia/Tokyo"), env...)
	out, err := cmd.CombinedOutput()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) != 4 {
		r.t.Fatalf("%v: %q", err, lines)
	}
	return lines[0], lines[1], lines[2]
}

// The version comes from the tag, and the commit is the last one that changed sources: a commit
// that only writes krew's checksums must not change the archives.
func TestStamp(t *testing.T) {
	r := newRepo(t)
	if version, commit, date := r.stamp(); version+commit+date != "" {
		t.Errorf("without git: %q %q %q", version, commit, date)
	}
	if version, _, _ := r.stamp("VERSION=v9.9.9"); version != "v9.9.9" {
		t.Errorf("VERSION without git: %q", version)
	}

	r.git("init", "-q")
	first := r.commit("a.go", "1")
	version, commit, date := r.stamp()
	if !regexp.MustCompile(`^v0\.0\.0-1-g[0-9a-f]{12}$`).MatchString(version) || commit != first || date != "2026-01-02T01:04:05Z" {
		t.Errorf("before the first tag: %q %q %q", version, commit, date)
	}

	written := r.commit("krew-manifest.yaml", "sums")
	if _, commit, _ := r.stamp(); commit != first {
		t.Errorf("a commit of the manifest alone, %s, is stamped as %s", written, commit)
	}
	r.git("tag", "v0.1.0")
	if version, commit, _ := r.stamp(); version != "v0.1.0" || commit != first {
		t.Errorf("at the tag: %q %q", version, commit)
	}
	r.write("krew-manifest.yaml", "other sums")
	if version, _, _ := r.stamp(); version != "v0.1.0" {
		t.Errorf("with a change of only the manifest: %q", version)
	}
	r.write("b.go", "not added")
	if version, _, _ := r.stamp(); version != "v0.1.0-dirty" {
		t.Errorf("with an untracked file: %q", version)
	}

	third := r.commit("b.go", "1")
	r.git("tag", "unrelated")
	if version, commit, _ := r.stamp(); version != "v0.1.0-1-g"+third[:12] || commit != third {
		t.Errorf("after the tag: %q %q", version, commit)
	}
	if version, commit, _ := r.stamp("VERSION=v0.2.0"); version != "v0.2.0" || commit != third {
		t.Errorf("with VERSION: %q %q", version, commit)
	}
}

// An invalid version never gets into a program, a file name or a command.
func TestStampRefuses(t *testing.T) {
	r := newRepo(t)
	for _, version := range []string{"1.2.3", "v1.2", "v1.2.3.4", "vX.Y.Z", "v01.2.3", "-X", "v1.2.3 x", "v1.2.3\nx", "v1.2.3; touch x", "v1.2.3'"} {
		cmd := exec.CommandContext(t.Context(), "test/release/stamp.sh", "-X")
		cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "VERSION="+version)
		if out, err := cmd.Output(); err == nil || len(out) > 0 {
			t.Errorf("%q was accepted: %s", version, out)
		}
	}
	t.Setenv("VERSION", "1.2.3")
	if _, err := ReadStamp(t.Context(), r.dir); err == nil || !strings.Contains(err.Error(), "MAJOR.MINOR.PATCH") {
		t.Errorf("the error does not state the format: %v", err)
	}
	for _, version := range []string{"v1.2.3", "v0.0.0", "v1.2.3-rc.1", "v1.2.3-5-gabcdef-dirty", "v1.2.3+build.5"} {
		if got, _, _ := r.stamp("VERSION=" + version); got != version {
			t.Errorf("the stamp is %q, want %q", got, version)
		}
	}
}

// A shallow clone lacks the number of commits, and the last commit that changed more than krew's
// manifest.
func TestStampOfShallowClone(t *testing.T) {
	r := newRepo(t)
	r.git("init", "-q")
	r.commit("a.go", "1")
	r.commit("a.go", "2")
	last := r.commit("krew-manifest.yaml", "sums")
	shallow := repo{t, filepath.Join(t.TempDir(), "shallow")}
	r.git("clone", "-q", "--depth=1", "file://"+r.dir, shallow.dir)
	if version, _, _ := shallow.stamp(); version != "v0.0.0-g"+last[:12] {
		t.Errorf("version %s", version)
	}
	if err := checkWhole(t.Context(), shallow.dir); err == nil || !strings.Contains(err.Error(), "--unshallow") {
		t.Errorf("shallow: %v", err)
	}
	if err := checkWhole(t.Context(), r.dir); err != nil {
		t.Error(err)
	}
}

// krew's manifest requires a version, and a tree that can be tagged.
func TestCheckReady(t *testing.T) {
	r := newRepo(t)
	r.git("init", "-q")
	r.commit("a.go", "1")
	ready := func(version string) error { return checkReady(t.Context(), r.dir, Stamp{Version: version}) }
	if err := errors.Join(ready("v1.2.3"), ready("v1.2.3-rc.1")); err != nil {
		t.Error(err)
	}
	r.write("krew-manifest.yaml", "written by the run before")
	if err := ready("v1.2.3"); err != nil {
		t.Errorf("with a changed manifest: %v", err)
	}
	for _, version := range []string{"v0.0.0-5-gabcdef", "v1.2.3-dirty", "", "v1.2.3+meta"} {
		if err := ready(version); err == nil {
			t.Errorf("%q was accepted as a version for a tag", version)
		}
	}
	r.write("a.go", "changed")
	if err := ready("v1.2.3"); err == nil || !strings.Contains(err.Error(), "a.go") {
		t.Errorf("changed: %v", err)
	}
}

// An unpacked source archive may be in another repository, whose commits and tags are unrelated.
func TestStampInForeignRepository(t *testing.T) {
	r := newRepo(t)
	r.git("init", "-q")
	r.commit("spec", "1")
	r.git("tag", "v7.0.0")
	inner := repo{t, filepath.Join(r.dir, "src")}
	script, err := os.ReadFile("stamp.sh")
	if err != nil {
		t.Fatal(err)
	}
	inner.write("test/release/stamp.sh", string(script))
	if version, commit, date := inner.stamp(); version+commit+date != "" {
		t.Errorf("stamp is %q %q %q, want none", version, commit, date)
	}
}
