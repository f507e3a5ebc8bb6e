package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/internal/flock"
)

// toolsDir is where the module of the control plane is, below the repository's root.
const toolsDir = "test/cluster/tools"

// buildFlags are part of the cache key: other flags, other binaries.
const buildFlags = "-buildvcs=false -mod=readonly"

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
	defer func() { _ = lock.Close() }()
	if isBuilt(dir) {
		return dir, nil
	}
	fmt.Fprintln(out, "building the control plane; this happens once and takes several minutes")
	start := time.Now()
	partial, err := freshDir(dir + ".partial-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if err := buildInto(ctx, tools, partial, out); err != nil {
		return "", fmt.Errorf("build the control plane: %w", err)
	}
	if err := os.Rename(partial, dir); err != nil {
		return "", err
	}
	fmt.Fprintf(out, "built in %s: %s\n", time.Since(start).Round(time.Second), dir)
	return dir, nil
}

func buildInto(ctx context.Context, tools, dir string, out io.Writer) error {
	version, err := goList(ctx, tools, "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	ldflags := []string{"-s -w"}
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		ldflags = append(ldflags, fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean",
			pkg, version, major, minor))
	}
	args := append([]string{"build", "-ldflags", strings.Join(ldflags, " "), "-o", dir + string(filepath.Separator)}, strings.Fields(buildFlags)...)
	build := goCommand(ctx, tools, append(args, "tool", "./etcd")...)
	build.Stdout, build.Stderr = out, out
	if err := build.Run(); err != nil {
		return err
	}
	kwok, err := goList(ctx, tools, "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(dir, stagesDir), os.DirFS(filepath.Join(kwok, "kustomize", "stage")))
}

// goList asks about a module of the tools module.
func goList(ctx context.Context, tools, format, module string) (string, error) {
	out, err := goCommand(ctx, tools, "list", "-m", "-f", format, module).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
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
