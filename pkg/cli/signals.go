package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// UntilStopped returns a context that ends when the program is asked to stop: by Ctrl-C,
// by SIGTERM, or because its terminal was closed. A second Ctrl-C or SIGTERM ends the
// program at once; a second SIGHUP does not, because shell and kernel each send one.
// Signals that were ignored when the program began (nohup, a job in the background) stay
// ignored.
func UntilStopped(ctx context.Context) context.Context {
	stops := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	if len(stops) == 0 { // To be notified of none is to be notified of all.
		return ctx
	}
	ctx, _ = signal.NotifyContext(ctx, stops...)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	return ctx
}
