package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/internal/flock"
)

// toolsDir is where the module of the control plane is, below the repository's root.
const toolsDir = "test/cluster/tools"

// buildFlags are part of the cache key: other flags, other binaries.
const buildFlags = "-buildvcs=false -mod=readonly"

// NotBuiltError says that the control plane's binaries are not in the cache.
type NotBuiltError struct {
	// Dir is where they would be.
	Dir string
}

// Error implements error.
func (e *NotBuiltError) Error() string {
	return fmt.Sprintf("the control plane is not built yet (nothing in %s)", e.Dir)
}

// Hint says what to do about it.
func (e *NotBuiltError) Hint() string {
	return "run `make cluster-build`: once, several minutes"
}

// Build makes sure that the control plane's binaries are in the user's cache
// folder, and returns the folder they are in. The first build takes several
// minutes; what the Go command says while it works goes to out.
//
// The folder's name is a hash of the tools module, so all clones and worktrees
// that agree on it share one build. Two builds at once are safe: the second
// waits, and finds the work done.
func Build(ctx context.Context, out io.Writer) (string, error) {
	tools, err := findTools()
	if err != nil {
		return "", err
	}
	dir, err := binaryDir(tools)
	if err != nil || isBuilt(dir) {
		return dir, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	lock, err := flock.Wait(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if isBuilt(dir) {
		return dir, nil
	}
	fmt.Fprintln(out, "building the control plane; this happens once and takes several minutes")
	start := time.Now()
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil { // of a build that was killed
		return "", err
	}
	if err := buildInto(ctx, tools, partial, out); err != nil {
		return "", fmt.Errorf("build the control plane: %w", err)
	}
	if err := os.Rename(partial, dir); err != nil {
		return "", err
	}
	fmt.Fprintf(out, "built in %s: %s\n", time.Since(start).Round(time.Second), dir)
	return dir, nil
}

// binaries returns the folder that Build filled, or a NotBuiltError.
func binaries() (string, error) {
	tools, err := findTools()
	if err != nil {
		return "", err
	}
	dir, err := binaryDir(tools)
	if err != nil {
		return "", err
	}
	if !isBuilt(dir) {
		return "", &NotBuiltError{Dir: dir}
	}
	return dir, nil
}

func isBuilt(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
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
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH, buildFlags)
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

func buildInto(ctx context.Context, tools, dir string, out io.Writer) error {
	version, err := goList(ctx, tools, "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	ldflags := "-s -w"
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		ldflags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean",
			pkg, version, major, minor)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := append([]string{"build", "-ldflags", ldflags, "-o", dir + string(filepath.Separator)}, strings.Fields(buildFlags)...)
	build := goCommand(ctx, tools, append(args, "tool", "./etcd")...)
	build.Stdout, build.Stderr = out, out
	if err := build.Run(); err != nil {
		return err
	}
	kwok, err := goList(ctx, tools, "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	return writeStages(filepath.Join(kwok, "kustomize", "stage"), filepath.Join(dir, stagesFile))
}

// goList asks about a module of the tools module.
func goList(ctx context.Context, tools, format, module string) (string, error) {
	out, err := goCommand(ctx, tools, "list", "-m", "-f", format, module).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("go list %s: %w: %s", module, err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// goCommand runs go in the tools module: static binaries need no C compiler,
// and a workspace that the user has open must not change what is built.
func goCommand(ctx context.Context, tools string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = tools
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return cmd
}
