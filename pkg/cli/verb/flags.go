package verb

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/util/term"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// NoArgs refuses positional arguments, which are mostly files given without -f.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flags().Lookup("filename") == nil {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return fmt.Errorf("unexpected argument %q: to name manifests, use -f or -k", args[0])
}

// dryRunAlone is the implicit value of a bare --dry-run, as in kubectl.
const dryRunAlone = "unchanged"

// DryRunFlag adds --dry-run. Without a value, it means client and causes a warning, as in kubectl.
func DryRunFlag(flags *pflag.FlagSet, dryRun *string, usage string) {
	flags.StringVar(dryRun, "dry-run", "none", usage)
	flags.Lookup("dry-run").NoOptDefVal = dryRunAlone
}

// DryRunOf parses --dry-run.
func DryRunOf(text string) (object.DryRun, error) {
	switch text {
	case "none":
		return object.DryRunNone, nil
	case "server":
		return object.DryRunServer, nil
	case "client", dryRunAlone:
		return object.DryRunClient, nil
	default:
		return "", fmt.Errorf("--dry-run must be none, server or client, not %q", text)
	}
}

// FlagError adds the name of the flag to an error; nil if err is nil.
func FlagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// Selector checks the label selector of -l.
func Selector(text string) error {
	_, err := labels.Parse(text)
	return FlagError("-l", err)
}

// UsualTimeout is how long a verb waits for an object by default.
const UsualTimeout = 5 * time.Minute

// ToleratedOutage is how long deletions in progress wait for an unreachable API server.
const ToleratedOutage = 5 * time.Minute

// StrictFlags are the flags of verbs that may get warnings from the server.
type StrictFlags struct{ warnings bool }

// Add adds the flag.
func (f *StrictFlags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.warnings, "warnings-as-errors", false,
		"Exit with 1 if the server returned a warning; has no other effect")
}

type warningsError struct {
	warnings int64
	err      error
}

func (e *warningsError) Error() string {
	warnings := "1 warning"
	if e.warnings > 1 {
		warnings = fmt.Sprintf("%d warnings", e.warnings)
	}
	return "the server returned " + warnings + ", which --warnings-as-errors turns into an error"
}

func (e *warningsError) Unwrap() error { return e.err }

// End returns an error if the server sent warnings and --warnings-as-errors was given. If err has a
// higher exit status, that status prevails.
func (f *StrictFlags) End(err error, warned *atomic.Int64) error {
	n := warned.Load()
	if !f.warnings || n == 0 {
		return err
	}
	return &warningsError{warnings: n, err: err}
}

// Printing returns the printer's options: format, colour, and live progress or plain lines.
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
		Width:    width, Height: height(streams.Out), ErrWidth: errWidth,
		Run:   c.NewRun(),
		OnRun: func() { c.RunReported = true },
		Mask:  c.Masking(), Flags: c.Typed(),
		Annotate: annotations(),
	}, err
}

func annotations() func(string, object.Source, string) string {
	folder, err := os.Getwd()
	if err != nil {
		return nil
	}
	return annotator(os.Getenv, folder)
}

// Terminal reports whether w is a terminal, by kubectl's rules, and returns a function that returns
// its width.
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

// height returns a function that returns the number of rows of a terminal.
func height(w io.Writer) func() int {
	tty := term.TTY{Out: connection.Bare(w)}
	return func() int {
		size := tty.GetSize()
		if size == nil {
			return 0
		}
		return int(size.Height)
	}
}

// IsUnattended reports whether no user is watching the run.
func IsUnattended(streams genericiooptions.IOStreams) bool {
	_, onTerminal := Terminal(streams.ErrOut)
	return !onTerminal
}

// IsTerminal reports whether r is a terminal.
func IsTerminal(r io.Reader) bool { return term.TTY{In: r}.IsTerminalIn() }

// Ignore drops events.
func Ignore(event.Event) {}

// CanAsk reports whether stdin and stderr are terminals, so that a user can answer.
func CanAsk(streams genericiooptions.IOStreams) bool {
	_, seen := Terminal(streams.ErrOut)
	return IsTerminal(streams.In) && seen
}
