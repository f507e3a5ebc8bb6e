package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// assets creates a folder with programs that print a version.
func assets(t *testing.T, dir, version string, programs ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		script := fmt.Sprintf("#!/bin/sh\necho Kubernetes %s\n", version)
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ours returns the Kubernetes version of the tools module.
func ours(t *testing.T) string {
	t.Helper()
	return must[string](t)(must[tools](t)(findTools()).kubernetesVersion())
}

// Provide uses KUBEBUILDER_ASSETS if its version fits. Otherwise it says why, and uses an earlier
// build.
func TestProvideUsesSuitableAssets(t *testing.T) {
	version := ours(t)
	cached, err := binaries(smallest())
	if err != nil {
		t.Skip(err)
	}
	for name, test := range map[string]struct {
		version  string
		programs []string
		options  Options
		says     string
		taken    bool
	}{
		"same":            {version: version, programs: smallest(), says: "using Kubernetes " + version + " of KUBEBUILDER_ASSETS", taken: true},
		"same minor":      {version: minorOf(version) + ".99", programs: smallest(), says: "using Kubernetes " + minorOf(version) + ".99", taken: true},
		"older":           {version: "v1.31.4", programs: smallest(), says: "is Kubernetes v1.31.4, but " + minorOf(version) + " is required"},
		"unknown version": {version: "9", programs: smallest(), says: "is Kubernetes 9, but " + minorOf(version) + " is required"},
		"incomplete":      {version: version, programs: []string{etcd, kubectlProgram}, says: "has no kube-apiserver"},
		"empty":           {says: "has no etcd, kube-apiserver, kubectl"},
		"controllers":     {version: version, programs: smallest(), options: Options{Nodes: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := assets(t, t.TempDir(), test.version, test.programs...)
			t.Setenv(EnvAssets, dir)
			var out bytes.Buffer
			got, err := Provide(t.Context(), &out, test.options)
			want := cached
			if test.taken {
				want = dir
			}
			if err != nil || got != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
			if message := out.String(); !strings.Contains(message, test.says) || test.says == "" && message != "" {
				t.Errorf("output is %q, want %q", message, test.says)
			}
		})
	}
}

// If nothing was built, Provide finds a control plane that setup-envtest installed.
func TestProvideFindsInstalled(t *testing.T) {
	version := ours(t)
	t.Setenv(EnvAssets, "")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	data := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("XDG_DATA_HOME", data)
	for _, dir := range installed("v1.31.0") {
		if strings.Contains(dir, "1.31.") {
			t.Fatalf("%s exists before the test creates it", dir)
		}
	}
	for _, installed := range []string{"v1.31.4", version} {
		name := strings.TrimPrefix(installed, "v") + "-" + platform()
		assets(t, filepath.Join(store(), "k8s", name), installed, smallest()...)
	}
	var out bytes.Buffer
	got, err := Provide(t.Context(), &out, Options{})
	if err != nil || !strings.Contains(got, strings.TrimPrefix(version, "v")) || !strings.Contains(out.String(), got) {
		t.Errorf("Provide() = %s, %v; output %q", got, err, out.String())
	}
}

// Without a network, the build fails. The error names the program, the cause and the remedy, and no
// partial build is left.
func TestBuildOffline(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOCACHE", t.TempDir())
	t.Setenv("GOMODCACHE", t.TempDir())
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	// In a new home, go starts a telemetry process that outlives it.
	telemetry := filepath.Join(cache, ".config", "go", "telemetry")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(cache, ".config"))
	if err := os.MkdirAll(telemetry, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err := Build(t.Context(), &out, apiServer)
	failure, ok := errors.AsType[*BuildError](err)
	if !ok || failure.Program != apiServer || !strings.Contains(failure.Hint(), "GOPROXY") || !strings.Contains(failure.Hint(), EnvAssets) {
		t.Errorf("%v", err)
	}
	if message := out.String(); !strings.Contains(message, "building kube-apiserver (1 of 1)") {
		t.Errorf("output is %q, want the name of the program being built", message)
	}
	err = filepath.WalkDir(cache, func(path string, entry os.DirEntry, err error) error {
		if strings.Contains(path, ".partial-") {
			t.Errorf("%s was left behind", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Another minor version of Kubernetes has its own programs, in its own folder.
func TestMinorVersionsHaveSeparatePrograms(t *testing.T) {
	dir := must[tools](t)(findTools()).dir
	own := must[tools](t)(toolsOf(dir, ""))
	files := must[[]string](t)(filepath.Glob(filepath.Join(dir, "1.*", "go.mod")))
	if len(files) == 0 {
		t.Fatal("no other minor")
	}
	folders := map[string]string{must[string](t)(own.binaryDir()): "ours"}
	for _, file := range files {
		minor := filepath.Base(filepath.Dir(file))
		other := must[tools](t)(toolsOf(dir, minor))
		if version := must[string](t)(other.kubernetesVersion()); minorOf(version) != "v"+minor {
			t.Errorf("%s has Kubernetes %s", minor, version)
		}
		if other.of(etcd) != dir || other.of(kwok) != dir || other.of(apiServer) != filepath.Dir(file) {
			t.Errorf("%s is built from %+v", minor, other)
		}
		folder := must[string](t)(other.binaryDir())
		if folders[folder] != "" {
			t.Errorf("%s is kept in the same folder as %s", minor, folders[folder])
		}
		folders[folder] = minor
	}
	if same := must[tools](t)(toolsOf(dir, strings.TrimPrefix(minorOf(must[string](t)(own.kubernetesVersion())), "v"))); same != own {
		t.Errorf("tools of our own minor version are %+v, want the default ones", same)
	}
	for _, minor := range []string{"1.2", "../tools", "etcd", "v1.35"} {
		if _, err := toolsOf(dir, minor); err == nil || !strings.Contains(err.Error(), EnvMinor) || !strings.Contains(err.Error(), "1.35") {
			t.Errorf("%s: %v", minor, err)
		}
	}
}
