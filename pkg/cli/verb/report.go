package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// Exit status, the same for every verb.
const (
	ExitYes     = 0 // applied, no difference, met, gone
	ExitNo      = 1 // conflict, refused, differs, not met in time, still stuck
	ExitUnknown = 2 // usage, no server, no permission
)

// A verb returns one of these once it has reported everything.
var (
	ErrNo      = errors.New("no")
	ErrUnknown = errors.New("could not tell")
)

// usageError is a mistake on the command line.
type usageError struct {
	err     error
	command string // whose help says more
}

// Usage marks err as a mistake in the use of the command.
func Usage(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if near := help.NearWord(cmd); near != "" && HintOf(err) == "" {
		err = &object.HintedError{Err: err, Advice: "did you mean " + near + "?"}
	}
	return &usageError{err: err, command: cmd.CommandPath()}
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// Hint names the help, unless the error has its own hint.
func (e *usageError) Hint() string {
	return cmp.Or(object.HintOf(e.err), "see: "+e.command+" --help")
}

// Status reports the error that ended a run and returns the exit status. say masks every message.
func Status(streams genericiooptions.IOStreams, say func(string) string, err error) int {
	warnings, strict := errors.AsType[*warningsError](err)
	switch {
	case err == nil:
		return ExitYes
	case strict:
		code := max(ExitNo, Status(streams, say, warnings.err))
		fmt.Fprintf(streams.ErrOut, "error: %s\n", warnings)
		return code
	case errors.Is(err, ErrNo):
		return ExitNo
	case isLate(err), IsRefused(err):
		reportErrors(streams, say, err)
		return ExitNo
	case errors.Is(err, ErrUnknown):
		return ExitUnknown
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(streams.ErrOut, "error: interrupted: %s\n", format.Plain(say(err.Error())))
		return ExitUnknown
	default:
		reportErrors(streams, say, err)
		return ExitUnknown
	}
}

// TellRun prints the id of a run that ended with an error, unless its printer did: the
// server's audit log identifies the run by it. A run that has yet to be confirmed changed nothing.
func TellRun(c *connection.Connection, w io.Writer, err error) {
	reported := errors.Is(err, ErrNo) || errors.Is(err, ErrUnknown)
	if c.Run == "" || c.RunTold || err == nil || IsRefused(err) || reported && !errors.As(err, new(*warningsError)) {
		return
	}
	fmt.Fprintf(w, "run: %s\n", c.Run)
}

// isLate reports whether the run ended because of a timeout, or because another run had the lock:
// that is a no.
func isLate(err error) bool {
	var late interface{ Late() bool }
	if errors.As(err, new(*unfinishedError)) || errors.As(err, &late) && late.Late() {
		return true
	}
	nothing, ok := errors.AsType[*wait.NothingError](err)
	return ok && nothing.Late
}

// unconfirmedError says that nothing was changed, because no user has confirmed it.
type unconfirmedError struct{ object.HintedError }

func (*unconfirmedError) Unconfirmed() bool { return true }

// Unconfirmed returns the refusal of a run that a user has to confirm, with the text of [fmt.Errorf].
func Unconfirmed(advice, format string, args ...any) error {
	return &unconfirmedError{object.HintedError{Err: fmt.Errorf(format, args...), Advice: advice}}
}

// IsRefused reports whether the run did nothing because a user has to confirm it: that is a no.
func IsRefused(err error) bool {
	var refused interface{ Unconfirmed() bool }
	return errors.As(err, &refused) && refused.Unconfirmed()
}

// reportErrors prints one line an error. Neighbours with the same hint share it, after the last of
// them.
func reportErrors(streams genericiooptions.IOStreams, say func(string) string, err error) {
	all := Flatten(err)
	width, _ := Terminal(streams.ErrOut)
	var hints format.Once
	annotate := annotations()
	for i, one := range all {
		line := format.Fit("error: ", say(one.Error()), width)
		if annotate != nil {
			line = cmp.Or(annotate("error", placeOf(one), say(one.Error())), line)
		}
		fmt.Fprintln(streams.ErrOut, line)
		if hint := HintOf(one); hint != "" && (i == len(all)-1 || HintOf(all[i+1]) != hint) && hints.Take(hint) {
			fmt.Fprintln(streams.ErrOut, format.Fit("  hint: ", say(hint), width))
		}
	}
}

// HintOf returns an error's hint; empty if there is none.
func HintOf(err error) string {
	return object.HintOf(err)
}

// Flatten unpacks errors.Join, so that each error gets a line of its own.
func Flatten(err error) []error {
	var all []error
	switch e := err.(type) { //nolint:errorlint // the outermost error only: inside a wrapped one the text belongs together
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, Flatten(one)...)
		}
	case *usageError:
		for _, one := range Flatten(e.err) {
			all = append(all, &usageError{err: one, command: e.command})
		}
	default:
		all = append(all, err)
	}
	return all
}

// Unread reports whether the reader has closed our output, as in "… | head", which is no failure of
// the run.
func Unread(err error) bool { return errors.Is(err, syscall.EPIPE) }

// unfinishedError ends an apply that ran out of time: nothing was refused, and the rest was
// reported.
type unfinishedError struct{ error }

func (e *unfinishedError) Unwrap() error { return e.error }

func (e *unfinishedError) Hint() string { return "run it again: it continues where it stopped" }

// Unfinished turns the end of a run that had too little time from unknown into a no. A run that was
// out of time before it had a plan has reported nothing, and stays unknown.
func Unfinished(err error) error {
	if over, ok := errors.AsType[*connection.OverError](err); ok {
		return &unfinishedError{over}
	}
	return err
}
