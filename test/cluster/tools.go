package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// EnvMinor is the variable that selects another minor version of Kubernetes, such as 1.35. It needs
// a module below that of the tools.
const EnvMinor = "K8S_MINOR"

// toolsDir is the folder of the control plane's modules in the repository.
const toolsDir = "test/cluster/tools"

// tools are the modules from which the control plane is built.
type tools struct {
	// dir is the module of etcd and kwok and, by default, of Kubernetes.
	dir string
	// kubernetes is the module of Kubernetes' programs.
	kubernetes string
}

// findTools searches for the modules from the working folder upwards: Go runs a test in its
// package's folder, which is in the repository. A path from runtime.Caller would be empty under
// -trimpath, and go:embed does not cross module boundaries.
func findTools() (tools, error) {
	wd, err := os.Getwd()
	if err != nil {
		return tools{}, err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		found := filepath.Join(dir, filepath.FromSlash(toolsDir))
		if isModule(found) {
			return toolsOf(found, os.Getenv(EnvMinor))
		}
		if dir == filepath.Dir(dir) {
			return tools{}, fmt.Errorf("no %s in or above %s", toolsDir, wd)
		}
	}
}

// toolsOf returns the modules for a minor version; empty for the default.
func toolsOf(dir, minor string) (tools, error) {
	own := tools{dir: dir, kubernetes: dir}
	version, err := own.kubernetesVersion()
	if err != nil {
		return tools{}, err
	}
	if minor == "" || minor == strings.TrimPrefix(minorOf(version), "v") {
		return own, nil
	}
	other := filepath.Join(dir, minor)
	if filepath.Base(minor) == minor && isModule(other) {
		return tools{dir: dir, kubernetes: other}, nil
	}
	known := []string{strings.TrimPrefix(minorOf(version), "v")}
	others, _ := filepath.Glob(filepath.Join(dir, "1.*", "go.mod"))
	for _, file := range others {
		known = append(known, filepath.Base(filepath.Dir(file)))
	}
	slices.Sort(known)
	return tools{}, fmt.Errorf("%s is %q, and there is %s", EnvMinor, minor, strings.Join(known, ", "))
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// of returns the folder of the module that contains a program.
func (t tools) of(program string) string {
	if packageOf(program) == "./"+program || program == kwok {
		return t.dir
	}
	return t.kubernetes
}

// kubernetesVersion returns the version of Kubernetes that the modules require.
func (t tools) kubernetesVersion() (string, error) {
	path := filepath.Join(t.kubernetes, "go.mod")
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(strings.TrimPrefix(line, "require ")); len(fields) > 1 && fields[0] == "k8s.io/kubernetes" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("%s requires no k8s.io/kubernetes", path)
}

// binaryDir returns the cache folder for programs built from these modules.
func (t tools) binaryDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	names := []string{"go.mod", "go.sum"}
	for _, program := range []string{etcd, kubectlClient, kubectlServer} {
		names = append(names, filepath.Join(program, "main.go"))
	}
	if t.kubernetes != t.dir {
		minor := filepath.Base(t.kubernetes)
		names = append(names, filepath.Join(minor, "go.mod"), filepath.Join(minor, "go.sum"))
	}
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH, buildFlags, stagesDir)
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(t.dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
	}
	key := hex.EncodeToString(hash.Sum(nil))[:16]
	return filepath.Join(cache, "kubectl-k8sconnect", "controlplane-"+key), nil
}
