package cli

import (
	"context"
	"io"
	"os"
	"os/exec"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/printer"
)

// printing settles how results are shown: in which form, in colour or not, with
// live progress or plain lines.
func printing(c *connection, streams genericiooptions.IOStreams, format string) (printer.Options, error) {
	o := printer.Options{Out: streams.Out, Err: streams.ErrOut, Format: format, Verbose: c.verbosity > 0}
	var err error
	var outTerminal, errTerminal bool
	o.Width, outTerminal = terminal(streams.Out)
	o.ErrWidth, errTerminal = terminal(streams.ErrOut)
	o.Color, err = printer.UseColor(c.color, outTerminal, os.Getenv)
	o.Progress = printer.CanRedraw(errTerminal, os.Getenv)
	return o, err
}

// terminal tells whether w is a terminal, and returns what measures its width.
func terminal(w io.Writer) (width func() int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return nil, false
	}
	return func() int {
		columns, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return columns
	}, true
}

// externalDiff returns the user's own diff program, if KUBECTL_EXTERNAL_DIFF
// names one.
func externalDiff(streams genericiooptions.IOStreams) (*printer.External, error) {
	external, err := printer.ParseExternal(os.Getenv("KUBECTL_EXTERNAL_DIFF"))
	if err != nil || external == nil {
		return nil, err
	}
	external.Run = func(ctx context.Context, name string, args []string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stdout, cmd.Stderr = streams.Out, streams.ErrOut
		return cmd.Run()
	}
	return external, nil
}

// ignore is for work of which nobody wants to hear while it goes on.
func ignore(event.Event) {}
