package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// UntilStopped returns a context that ends on Ctrl-C, SIGTERM or SIGHUP. A second Ctrl-C or SIGTERM
// ends the program at once. A second SIGHUP does not, because the shell and the kernel may each
// send one. Signals that were ignored at the start stay ignored.
func UntilStopped(ctx context.Context) context.Context {
	stops := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	if len(stops) == 0 { // Without signals, NotifyContext would catch all of them.
		return ctx
	}
	ctx, _ = signal.NotifyContext(ctx, stops...)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	return ctx
}
