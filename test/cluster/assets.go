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

// EnvAssets is kubebuilder's variable for the folder of etcd, kube-apiserver and kubectl.
const EnvAssets = "KUBEBUILDER_ASSETS"

// Provide returns a folder with the programs that the options need, and builds what is missing. The
// smallest cluster prefers programs of the requested minor version that are already on the machine:
// in KUBEBUILDER_ASSETS, then from an earlier build, then from setup-envtest and kubebuilder.
// Provide writes to out what it does, and why it rejects a folder.
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

// checkAssets returns the Kubernetes version of the programs in a folder, or why they cannot be
// used.
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
		return "", fmt.Errorf("%s is Kubernetes %s, but %s is required", path, version, minorOf(want))
	}
	return version, nil
}

// minorOf returns v1.36 for v1.36.3.
func minorOf(version string) string {
	if first := strings.Index(version, "."); first >= 0 {
		if second := strings.Index(version[first+1:], "."); second >= 0 {
			return version[:first+1+second]
		}
	}
	return version
}

// installed returns the folders where setup-envtest and kubebuilder install programs of this minor
// version.
func installed(want string) []string {
	pattern := strings.TrimPrefix(minorOf(want), "v") + ".*-" + platform()
	dirs, _ := filepath.Glob(filepath.Join(store(), "k8s", pattern))
	return append(dirs, "/usr/local/kubebuilder/bin")
}

func platform() string { return runtime.GOOS + "-" + runtime.GOARCH }

// store is the folder of setup-envtest's downloads.
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
