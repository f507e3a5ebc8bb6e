package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/internal/flock"
)

// buildFlags are part of the cache key.
const buildFlags = "-buildvcs=false -mod=readonly"

// stillBuilding is the interval of progress messages for a slow build.
const stillBuilding = 30 * time.Second

// Build makes sure that programs of the control plane are in the user's cache folder,
// by default all of them, and returns the folder they are in. The first build takes
// several minutes; it says to out which program it builds, and how long that took.
//
// The folder's name is a hash of the tools' modules, so all clones and worktrees
// that agree on them share one build. Two builds at once are safe: the second
// waits, and finds the work done. When ctx ends, no process of the build is left.
func Build(ctx context.Context, out io.Writer, programs ...string) (string, error) {
	if len(programs) == 0 {
		programs = Options{Nodes: 1}.Programs()
	}
	tools, err := findTools()
	if err != nil {
		return "", err
	}
	dir, err := tools.binaryDir()
	if err != nil || len(notIn(dir, programs)) == 0 {
		return dir, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := buildLock(ctx, dir+".lock", out)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	missing := notIn(dir, programs)
	if len(missing) == 0 {
		return dir, nil
	}
	fmt.Fprintf(out, "building %s; this is needed once and takes several minutes\n", strings.Join(missing, ", "))
	partial, err := freshDir(dir + ".partial-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	b := builder{tools: tools, out: out, partial: partial}
	for i, program := range missing {
		start := time.Now()
		fmt.Fprintf(out, "building %s (%d of %d)\n", program, i+1, len(missing))
		if err := b.build(ctx, program, dir); err != nil {
			return "", &BuildError{Program: program, Err: err}
		}
		fmt.Fprintf(out, "built %s in %s\n", program, time.Since(start).Round(time.Second))
	}
	return dir, nil
}

// BuildError reports a program of the control plane that could not be built.
type BuildError struct {
	Program string
	Err     error
}

// Error implements error.
func (e *BuildError) Error() string { return fmt.Sprintf("build %s: %v", e.Program, e.Err) }

// Unwrap returns the cause.
func (e *BuildError) Unwrap() error { return e.Err }

// Hint returns a remedy, or "".
func (e *BuildError) Hint() string {
	if errors.Is(e.Err, context.Canceled) {
		return ""
	}
	return "the first build needs a Go module proxy (GOPROXY); without one, " + EnvAssets + " can name a folder with " + strings.Join(smallest(), ", ")
}

// buildLock waits for another process's build, and reports that.
func buildLock(ctx context.Context, path string, out io.Writer) (*os.File, error) {
	lock, err := flock.Try(path)
	if lock != nil || err != nil {
		return lock, err
	}
	fmt.Fprintln(out, "another process builds the control plane; waiting for it")
	return flock.Wait(ctx, path)
}

type builder struct {
	tools   tools
	partial string
	out     io.Writer
}

// build builds one program, and moves it to dir when it is complete.
func (b builder) build(ctx context.Context, program, dir string) error {
	version, err := b.tools.kubernetesVersion()
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
	path := filepath.Join(b.partial, program)
	args := append([]string{"build", "-ldflags", strings.Join(ldflags, " "), "-o", path}, strings.Fields(buildFlags)...)
	build := goCommand(ctx, b.tools.of(program), append(args, packageOf(program))...)
	build.Stdout, build.Stderr = b.out, b.out
	build.Env = append(build.Env, "GOTMPDIR="+b.partial) // removed with partial, even if go is killed
	stop := b.reportEvery(stillBuilding, program)
	err = runGroup(build)
	stop()
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	if program == kwok {
		if err := b.copyStages(ctx, dir); err != nil {
			return err
		}
	}
	return os.Rename(path, filepath.Join(dir, program))
}

// reportEvery reports at an interval that a program is still being built.
func (b builder) reportEvery(interval time.Duration, program string) (stop func()) {
	start, tick, done, ended := time.Now(), time.NewTicker(interval), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintf(b.out, "still building %s after %s\n", program, time.Since(start).Round(time.Second))
			}
		}
	}()
	return func() { tick.Stop(); close(done); <-ended }
}

func (b builder) copyStages(ctx context.Context, dir string) error {
	source, err := goList(ctx, b.tools.of(kwok), "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	partial := filepath.Join(b.partial, stagesDir)
	if err := os.CopyFS(partial, os.DirFS(filepath.Join(source, "kustomize", "stage"))); err != nil {
		return err
	}
	target := filepath.Join(dir, stagesDir)
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.Rename(partial, target)
}

// goList queries a module that the module in dir requires.
func goList(ctx context.Context, dir, format, module string) (string, error) {
	out, err := goCommand(ctx, dir, "list", "-m", "-f", format, module).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("go list %s: %w: %s", module, err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// goCommand returns a go command in a module of the tools, without cgo and without the user's
// workspace. It runs in a process group, which is interrupted when ctx ends: go alone would leave
// its compilers running.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{"CGO_ENABLED=0", "GOWORK=off"})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// On an interrupt, go removes its temporary folder.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// runGroup runs the command and kills any processes that it leaves behind.
func runGroup(cmd *exec.Cmd) error {
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return err
}
