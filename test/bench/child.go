package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// usage is the cost of one run of a program.
type usage struct {
	Seconds    float64 // wall clock
	CPUSeconds float64 // user and system
	PeakBytes  int64   // resident memory
	Exit       int
}

// call runs a program from a small child process. Linux counts the memory of the parent as the
// program's own until it has started, and this process is large.
func call(ctx context.Context, env []string, log string, argv ...string) (u usage, err error) {
	self, err := os.Executable()
	if err != nil {
		return u, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{verbLaunch, log}, argv...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env, cmd.Stderr = env, os.Stderr
	answer, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(answer, &u)
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w", argv[0], err)
	}
	return u, nil
}

// launch runs in the child process: it runs the program with its output in a file, and writes its
// usage to out.
func launch(ctx context.Context, out io.Writer, log string, argv []string) error {
	file, err := os.Create(log)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = file, file
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return err
	}
	state := cmd.ProcessState
	u := usage{Seconds: took.Seconds(), CPUSeconds: (state.UserTime() + state.SystemTime()).Seconds(), Exit: state.ExitCode()}
	if rusage, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.PeakBytes = rusage.Maxrss
		if runtime.GOOS != "darwin" {
			u.PeakBytes <<= 10 // KiB here, bytes on macOS
		}
	}
	return json.NewEncoder(out).Encode(u)
}

// tail returns the end of a file, for error messages.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}
