package cli

import (
	"io"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/util/term"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/mask"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// printing settles how results are shown: in which form, in colour or not, with
// live progress or plain lines.
func printing(c *connection.Connection, streams genericiooptions.IOStreams, format string) (output.Options, error) {
	width, outTerminal := terminal(streams.Out)
	errWidth, errTerminal := terminal(streams.ErrOut)
	color, err := output.UseColor(c.Color, outTerminal, os.Getenv)
	return output.Options{
		Out: streams.Out, Err: streams.ErrOut,
		Format:   format,
		Color:    color,
		Verbose:  c.Verbosity > 0,
		Progress: output.CanRedraw(errTerminal, os.Getenv),
		Width:    width, ErrWidth: errWidth,
		Run:   connection.NewRun(),
		OnRun: func() { c.RunTold = true },
		Mask:  c.Masking(), Flags: c.Typed(),
		Over: c.Over,
	}, err
}

// terminal reports whether w is what kubectl takes for a terminal, and returns what
// measures its width.
func terminal(w io.Writer) (width func() int, ok bool) {
	tty := term.TTY{Out: mask.Bare(w)}
	if !tty.IsTerminalOut() {
		return nil, false
	}
	return func() int {
		size := tty.GetSize()
		if size == nil {
			return 0
		}
		return int(size.Width)
	}, true
}

// isTerminal reports whether somebody types what is read from r.
func isTerminal(r io.Reader) bool { return term.TTY{In: r}.IsTerminalIn() }

// ignore is for work of which nobody wants to hear while it goes on.
func ignore(event.Event) {}
