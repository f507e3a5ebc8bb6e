package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// The exit statuses are the same for every verb.
const (
	ExitYes     = 0 // applied, no difference, condition met, gone
	ExitNo      = 1 // conflict, refused, differs, not met in time, still stuck
	ExitUnknown = 2 // usage, no server, no permission
)

// A verb returns one of these errors once it has reported everything.
var (
	ErrNo      = errors.New("no")
	ErrUnknown = errors.New("could not tell")
)

type usageError struct {
	err     error
	command string
}

// Usage marks err as caused by an invalid command line.
func Usage(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if near := help.NearWord(cmd); near != "" && object.HintOf(err) == "" {
		err = &object.HintedError{Err: err, Advice: "did you mean " + near + "?"}
	}
	return &usageError{err: err, command: cmd.CommandPath()}
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// Hint returns the error's own hint, or else points to the help.
func (e *usageError) Hint() string {
	return cmp.Or(object.HintOf(e.err), "see: "+e.command+" --help")
}

// Reporting says how to print errors.
type Reporting struct {
	// Say masks a message.
	Say func(string) string
	// Verbose lists the faults that are otherwise only counted.
	Verbose bool
}

// Status prints the error that ended a run, and returns the exit status.
func Status(streams genericiooptions.IOStreams, how Reporting, err error) int {
	warnings, strict := errors.AsType[*warningsError](err)
	switch {
	case err == nil:
		return ExitYes
	case strict:
		code := max(ExitNo, Status(streams, how, warnings.err))
		fmt.Fprintf(streams.ErrOut, "error: %s\n", warnings)
		return code
	case errors.Is(err, ErrNo):
		return ExitNo
	case errors.Is(err, context.Canceled) && errors.As(err, new(*remainsError)):
		fmt.Fprintf(streams.ErrOut, "error: interrupted: %s\n", format.Plain(how.Say(interrupt(err))))
		return ExitNo
	case isLate(err), IsRefused(err):
		reportErrors(streams, how, err)
		return ExitNo
	case errors.Is(err, ErrUnknown):
		return ExitUnknown
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(streams.ErrOut, "error: interrupted: %s\n", format.Plain(how.Say(interrupt(err))))
		return ExitUnknown
	default:
		reportErrors(streams, how, err)
		return ExitUnknown
	}
}

// interrupt returns the text of an interrupt's error. Concurrent requests end with the same error,
// which is not repeated.
func interrupt(err error) string {
	var lines []string
	for _, one := range Flatten(err) {
		if line := one.Error(); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// ReportRun prints the ID of a failed run, with which the run can be found in the server's audit log,
// unless the ID was printed already or the run was refused.
func ReportRun(c *connection.Connection, w io.Writer, err error) {
	reported := errors.Is(err, ErrNo) || errors.Is(err, ErrUnknown)
	if c.Run == "" || c.RunReported || err == nil || IsRefused(err) || reported && !errors.As(err, new(*warningsError)) {
		return
	}
	fmt.Fprintf(w, "run: %s\n", c.Run)
}

// isLate reports whether the run ended because of a timeout or another run's lock, so that its exit
// status is 1.
func isLate(err error) bool {
	var late interface{ Late() bool }
	return errors.As(err, new(*unfinishedError)) || errors.As(err, new(*remainsError)) || errors.As(err, &late) && late.Late()
}

type unconfirmedError struct{ object.HintedError }

func (*unconfirmedError) Unconfirmed() bool { return true }

// Unconfirmed returns the error of a run that needs confirmation, formatted as by [fmt.Errorf].
func Unconfirmed(advice, format string, args ...any) error {
	return &unconfirmedError{object.HintedError{Err: fmt.Errorf(format, args...), Advice: advice}}
}

// IsRefused reports whether the run did nothing because it was not confirmed, so that its exit
// status is 1.
func IsRefused(err error) bool {
	var refused interface{ Unconfirmed() bool }
	return errors.As(err, &refused) && refused.Unconfirmed()
}

func reportErrors(streams genericiooptions.IOStreams, how Reporting, err error) {
	all := Flatten(err)
	width, _ := Terminal(streams.ErrOut)
	annotate := annotations()
	if !how.Verbose && annotate == nil {
		all = named(all)
	}
	var hints format.Once
	for i, one := range all {
		line := format.Fit("error: ", how.Say(one.Error()), width)
		if annotate != nil {
			line = cmp.Or(annotate("error", placeOf(one), how.Say(one.Error())), line)
		}
		fmt.Fprintln(streams.ErrOut, line)
		if hint := object.HintOf(one); hint != "" && (i == len(all)-1 || object.HintOf(all[i+1]) != hint) && hints.Take(hint) {
			fmt.Fprintln(streams.ErrOut, format.Fit("  hint: ", how.Say(hint), width))
		}
	}
}

// Flatten unpacks errors.Join, so that each error gets its own line.
func Flatten(err error) []error {
	var all []error
	switch e := err.(type) { //nolint:errorlint // Only the outermost error is unpacked: the text of a wrapping error must stay in one piece.
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

// Unread reports whether the reader of our output has closed the pipe, which is not a failure of
// the run.
func Unread(err error) bool { return errors.Is(err, syscall.EPIPE) }

// remainsError is the error of a run that was not rolled back completely.
type remainsError struct{ error }

func (e *remainsError) Unwrap() error { return e.error }

// Remains marks the error of a run that was not rolled back completely, so that the exit status is
// 1. If the report has all there is to say about the error, it returns [ErrNo].
func Remains(failed error) error {
	if IsResult(failed) {
		return ErrNo
	}
	return &remainsError{failed}
}

// unfinishedError is the error of an apply that ran out of time.
type unfinishedError struct{ error }

func (e *unfinishedError) Unwrap() error { return e.error }

func (e *unfinishedError) Hint() string { return "run this again: it continues where it stopped" }

// Unfinished marks the error of a run that timed out, so that the exit status is 1. It must not be
// called for a run that had no plan yet.
func Unfinished(err error) error {
	if over, ok := errors.AsType[*connection.OverError](err); ok {
		return &unfinishedError{over}
	}
	return err
}
