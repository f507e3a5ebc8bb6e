package cluster

import (
	"fmt"
	"os"
	"path/filepath"
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
	dir, err := tools.binaryDir()
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
