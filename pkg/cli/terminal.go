package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/printer"
)

// printing settles how results are shown: in which form, in colour or not, with
// live progress or plain lines.
func printing(c *connection, streams genericiooptions.IOStreams, format string) (printer.Options, error) {
	o := printer.Options{Out: streams.Out, Err: streams.ErrOut, Format: format}
	_, outTerminal := terminal(streams.Out)
	errWidth, errTerminal := terminal(streams.ErrOut)
	dumb := os.Getenv("TERM") == "dumb"
	switch c.color {
	case "always":
		o.Color = true
	case "never":
	case "auto":
		o.Color = outTerminal && !dumb && os.Getenv("NO_COLOR") == ""
	default:
		return o, fmt.Errorf("--color must be auto, always or never, not %q", c.color)
	}
	o.Progress = errTerminal && !dumb
	o.Width = errWidth
	return o, nil
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

// ignore is for work of which nobody wants to hear while it goes on.
func ignore(event.Event) {}
