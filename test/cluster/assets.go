package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// EnvAssets names the environment variable by which kubebuilder's tools say where etcd,
// kube-apiserver and kubectl are.
const EnvAssets = "KUBEBUILDER_ASSETS"

// Provide returns a folder with the programs that the options need. The smallest cluster
// uses programs that are already on the machine, if they are of the requested minor
// version of Kubernetes: first those that KUBEBUILDER_ASSETS names, then an earlier
// build, then those that setup-envtest and kubebuilder install. It builds what is
// missing. It reports to out what it does, and which folder it refuses and why.
func Provide(ctx context.Context, out io.Writer, options Options) (string, error) {
	if !options.isSmallest() {
		return Build(ctx, out, options.Programs()...)
	}
	tools, err := findTools()
	if err != nil {
		return "", err
	}
	want, err := tools.kubernetesVersion()
	if err != nil {
		return "", err
	}
	if dir := os.Getenv(EnvAssets); dir != "" {
		version, err := checkAssets(ctx, dir, want)
		if err == nil {
			fmt.Fprintf(out, "using Kubernetes %s of %s: %s\n", version, EnvAssets, dir)
			return filepath.Abs(dir)
		}
		fmt.Fprintf(out, "not using %s: %v\n", EnvAssets, err)
	}
	if dir, err := binaries(options.Programs()); err == nil {
		return dir, nil
	}
	for _, dir := range installed(want) {
		if version, err := checkAssets(ctx, dir, want); err == nil {
			fmt.Fprintf(out, "using Kubernetes %s that is installed: %s\n", version, dir)
			return dir, nil
		}
	}
	return Build(ctx, out, options.Programs()...)
}

// checkAssets says what speaks against the programs of a folder, or which version of
// Kubernetes they are.
func checkAssets(ctx context.Context, dir, want string) (version string, err error) {
	if missing := notIn(dir, smallest()); len(missing) > 0 {
		return "", fmt.Errorf("%s has no %s", dir, strings.Join(missing, ", "))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	path := filepath.Join(dir, apiServer)
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, errors.Join(err, context.Cause(ctx)))
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "Kubernetes ")
	if !ok {
		return "", fmt.Errorf("%s --version says %q", path, out)
	}
	if minorOf(version) != minorOf(want) {
		return "", fmt.Errorf("%s is Kubernetes %s, and %s is needed", path, version, minorOf(want))
	}
	return version, nil
}

// minorOf returns v1.36 of v1.36.3.
func minorOf(version string) string {
	if first := strings.Index(version, "."); first >= 0 {
		if second := strings.Index(version[first+1:], "."); second >= 0 {
			return version[:first+1+second]
		}
	}
	return version
}

// installed are the folders in which setup-envtest and kubebuilder put programs of this
// minor version.
func installed(want string) []string {
	pattern := strings.TrimPrefix(minorOf(want), "v") + ".*-" + platform()
	dirs, _ := filepath.Glob(filepath.Join(store(), "k8s", pattern))
	return append(dirs, "/usr/local/kubebuilder/bin")
}

func platform() string { return runtime.GOOS + "-" + runtime.GOARCH }

// store is where setup-envtest keeps its downloads.
func store() string {
	home, _ := os.UserHomeDir()
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "io.kubebuilder.envtest")
	}
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "kubebuilder-envtest")
}
