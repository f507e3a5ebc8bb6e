package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is the cost of one call of a program.
type Usage struct {
	Seconds    float64 // from its start to its end
	CPUSeconds float64 // user and system
	PeakBytes  int64   // resident memory
	Exit       int
	Ended      time.Time
}

// Call runs a program by way of a process that does nothing else. Linux counts
// the memory of the process that starts a program as the program's own until it
// has been started, and this one's is large.
func Call(ctx context.Context, env []string, log string, argv ...string) (Usage, error) {
	self, err := os.Executable()
	if err != nil {
		return Usage{}, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{VerbLaunch, log}, argv...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = env
	cmd.Stderr = os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		return Usage{}, fmt.Errorf("%s: %w", argv[0], err)
	}
	var u Usage
	if err := json.Unmarshal(answer, &u); err != nil {
		return Usage{}, fmt.Errorf("%s: %w", argv[0], err)
	}
	return u, nil
}

// Launch is the process in between: it runs the program with its output in a file, and
// prints its usage.
func Launch(ctx context.Context, log string, argv []string) error {
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	state := cmd.ProcessState
	return json.NewEncoder(os.Stdout).Encode(Usage{
		Seconds:    took.Seconds(),
		CPUSeconds: (state.UserTime() + state.SystemTime()).Seconds(),
		PeakBytes:  peak(state),
		Exit:       state.ExitCode(),
		Ended:      start.Add(took),
	})
}

func peak(state *os.ProcessState) int64 {
	rusage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return rusage.Maxrss // in bytes there, in KiB elsewhere
	}
	return rusage.Maxrss << 10
}

// Tail returns the end of a file, for error messages.
func Tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const lines = 8
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(all) > lines {
		all = append([]string{"… " + strconv.Itoa(len(all)-lines) + " lines"}, all[len(all)-lines:]...)
	}
	return strings.Join(all, "\n")
}

// VerbLaunch is how this program is called to measure another one: LOG PROGRAM [ARG…].
const VerbLaunch = "launch"
