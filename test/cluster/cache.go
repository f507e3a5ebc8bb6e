package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// NotBuiltError says that programs of the control plane are not in the cache.
type NotBuiltError struct {
	// Dir is where they would be.
	Dir string
	// Programs are those that are not there.
	Programs []string
}

// Error implements error.
func (e *NotBuiltError) Error() string {
	return fmt.Sprintf("the control plane is not built yet (no %s in %s)", strings.Join(e.Programs, ", "), e.Dir)
}

// Hint says what to do about it.
func (e *NotBuiltError) Hint() string {
	return "run `make cluster-build`: once, several minutes"
}

// binaries returns the folder that Build filled, or a NotBuiltError if it lacks one of
// these programs.
func binaries(programs []string) (string, error) {
	tools, err := findTools()
	if err != nil {
		return "", err
	}
	dir, err := binaryDir(tools)
	if err != nil {
		return "", err
	}
	if missing := notIn(dir, programs); len(missing) > 0 {
		return "", &NotBuiltError{Dir: dir, Programs: missing}
	}
	return dir, nil
}

// notIn returns which programs a folder lacks.
func notIn(dir string, programs []string) []string {
	var missing []string
	for _, program := range programs {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			missing = append(missing, program)
		}
	}
	return missing
}

// findTools looks for the tools module from the working folder upwards: Go runs
// a test in its package's folder, so that is inside the repository. (A path from
// runtime.Caller would be empty under -trimpath, and go:embed stops at the
// border of a module.)
func findTools() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		tools := filepath.Join(dir, filepath.FromSlash(toolsDir))
		if _, err := os.Stat(filepath.Join(tools, "go.mod")); err == nil {
			return tools, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no %s in or above %s", toolsDir, wd)
		}
	}
}

func binaryDir(tools string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH, buildFlags, stagesDir)
	for _, name := range []string{"go.mod", "go.sum", filepath.Join("etcd", "main.go")} {
		content, err := os.ReadFile(filepath.Join(tools, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
	}
	key := hex.EncodeToString(hash.Sum(nil))[:16]
	return filepath.Join(cache, "kubectl-k8sconnect", "controlplane-"+key), nil
}

// freshDir makes a folder with this prefix, and removes those of builds that
// were killed. (Not to be used again: a part of such a build may still write.)
func freshDir(prefix string) (string, error) {
	old, err := filepath.Glob(prefix + "*")
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		_ = os.RemoveAll(dir)
	}
	dir, err := os.MkdirTemp(filepath.Dir(prefix), filepath.Base(prefix))
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}
