package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// Closing the terminal ends the run as Ctrl-C does. A second SIGHUP, which shells send, does not
// interrupt the cleanup.
func TestUntilStopped(t *testing.T) {
	heard := make(chan os.Signal, 2)
	signal.Notify(heard, syscall.SIGHUP) // We may have been started with it ignored.
	defer signal.Stop(heard)
	ctx := UntilStopped(t.Context())
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
	}
	if context.Cause(ctx) == nil {
		t.Error("no cause")
	}
}
