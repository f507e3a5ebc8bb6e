package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// NotBuiltError reports programs of the control plane that are not in the cache.
type NotBuiltError struct {
	// Dir is the cache folder.
	Dir string
	// Programs are the missing programs.
	Programs []string
}

// Error implements error.
func (e *NotBuiltError) Error() string {
	return fmt.Sprintf("the control plane is not built yet (no %s in %s)", strings.Join(e.Programs, ", "), e.Dir)
}

// Hint returns the remedy.
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
	dir, err := tools.binaryDir()
	if err != nil {
		return "", err
	}
	if missing := notIn(dir, programs); len(missing) > 0 {
		return "", &NotBuiltError{Dir: dir, Programs: missing}
	}
	return dir, nil
}

// notIn returns the programs that a folder lacks.
func notIn(dir string, programs []string) []string {
	var missing []string
	for _, program := range programs {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			missing = append(missing, program)
		}
	}
	return missing
}

// freshDir creates a folder with this prefix, and removes those of builds that were killed. They
// cannot be reused: a part of such a build may still be writing.
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
