package verb

import (
	"io"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/util/term"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// Printing settles how results are shown: in which form, in colour or not, with
// live progress or plain lines.
func Printing(c *connection.Connection, streams genericiooptions.IOStreams, format string) (output.Options, error) {
	width, outTerminal := Terminal(streams.Out)
	errWidth, errTerminal := Terminal(streams.ErrOut)
	color, err := output.UseColor(c.Color, outTerminal, os.Getenv)
	return output.Options{
		Out: streams.Out, Err: streams.ErrOut,
		Format:   format,
		Color:    color,
		Verbose:  c.Verbosity > 0,
		Progress: output.CanRedraw(errTerminal, os.Getenv),
		Width:    width, ErrWidth: errWidth,
		Run:   c.NewRun(),
		OnRun: func() { c.RunTold = true },
		Mask:  c.Masking(), Flags: c.Typed(),
		Over:     c.Over,
		Annotate: annotations(),
	}, err
}

// annotations returns what makes lines of errors for GitHub's runner; nil elsewhere.
func annotations() func(object.Source, string) string {
	folder, err := os.Getwd()
	if err != nil {
		return nil
	}
	return annotator(os.Getenv, folder)
}

// Terminal reports whether w is a terminal by kubectl's rules, and returns a function
// that measures its width.
func Terminal(w io.Writer) (width func() int, ok bool) {
	tty := term.TTY{Out: connection.Bare(w)}
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

// IsTerminal reports whether a user types what is read from r.
func IsTerminal(r io.Reader) bool { return term.TTY{In: r}.IsTerminalIn() }

// Ignore drops events, for work whose progress is not shown.
func Ignore(event.Event) {}

// CanAsk reports whether a user is there to answer.
func CanAsk(streams genericiooptions.IOStreams) bool {
	_, seen := Terminal(streams.ErrOut)
	return IsTerminal(streams.In) && seen
}
