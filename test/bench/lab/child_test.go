package lab

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be its own helper, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == VerbLaunch {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := Launch(ctx, os.Args[2], os.Args[3:]); err != nil {
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestCallMeasuresTheChildAlone(t *testing.T) {
	ours := make([]byte, 128<<20)
	for i := 0; i < len(ours); i += 4096 {
		ours[i] = 1
	}
	log := filepath.Join(t.TempDir(), "log")
	u, err := Call(t.Context(), os.Environ(), log, "sh", "-c", "echo out; echo err >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(ours)
	if u.Exit != 3 {
		t.Errorf("exit status %d, want 3", u.Exit)
	}
	if u.PeakBytes == 0 || u.PeakBytes > 64<<20 {
		t.Errorf("a shell took %d MiB: this process's memory is counted as its own", u.PeakBytes>>20)
	}
	if u.Seconds <= 0 || u.CPUSeconds <= 0 {
		t.Errorf("no time was measured: %+v", u)
	}
	if got := Tail(log); got != "out\nerr" {
		t.Errorf("output is %q", got)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pid := filepath.Join(t.TempDir(), "pid")
	done := make(chan error, 1)
	go func() {
		_, err := Call(ctx, os.Environ(), filepath.Join(t.TempDir(), "log"), "sh", "-c", "echo $$ >"+pid+"; exec sleep 600")
		done <- err
	}()
	for !strings.HasSuffix(read(t, pid), "\n") {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("no error")
	}
	number, err := strconv.Atoi(strings.TrimSpace(read(t, pid)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(number, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the program runs on: %v", err)
	}
}

// read returns a file's content; none for one that is not there yet.
func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(content)
}
