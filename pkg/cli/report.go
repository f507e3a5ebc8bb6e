package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// Exit status, the same for every verb.
const (
	exitYes     = 0 // applied, no difference, met, gone
	exitNo      = 1 // conflict, refused, differs, not met in time, still stuck
	exitUnknown = 2 // usage, no server, no permission
)

// What a verb returns when it has reported everything already.
var (
	errNo      = errors.New("no")
	errUnknown = errors.New("could not tell")
)

// usageError is a slip on the command line.
type usageError struct {
	err     error
	command string // whose help tells more
}

// usage makes err one of the command's usage.
func usage(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if near := help.NearWord(cmd); near != "" && hintOf(err) == "" {
		err = &object.HintedError{Err: err, Advice: "did you mean " + near + "?"}
	}
	return &usageError{err: err, command: cmd.CommandPath()}
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// Hint says where help is, unless the error itself knows better.
func (e *usageError) Hint() string {
	var known interface{ Hint() string }
	if errors.As(e.err, &known) && known.Hint() != "" {
		return known.Hint()
	}
	return "see: " + e.command + " --help"
}

// status reports what a run ended with and returns the status to exit with. What is said
// passes through say.
func status(streams genericiooptions.IOStreams, say func(string) string, err error) int {
	warnings, strict := errors.AsType[*warningsError](err)
	switch {
	case err == nil:
		return exitYes
	case strict:
		code := max(exitNo, status(streams, say, warnings.err))
		fmt.Fprintf(streams.ErrOut, "error: %s\n", warnings)
		return code
	case errors.Is(err, errNo):
		return exitNo
	case isLate(err):
		reportErrors(streams, say, err)
		return exitNo
	case errors.Is(err, errUnknown):
		return exitUnknown
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(streams.ErrOut, "error: interrupted: %s\n", layout.Plain(say(err.Error())))
		return exitUnknown
	default:
		reportErrors(streams, say, err)
		return exitUnknown
	}
}

// tellRun tells the id of a run that ended with an error, unless its printer did: by
// that the server's audit log knows the run.
func tellRun(c *connection.Connection, w io.Writer, err error) {
	reported := errors.Is(err, errNo) || errors.Is(err, errUnknown)
	if c.Run == "" || c.RunTold || err == nil || reported && !errors.As(err, new(*warningsError)) {
		return
	}
	fmt.Fprintf(w, "run: %s\n", c.Run)
}

// isLate reports whether the time was over before all was done, or before what a
// selector waited for came: that is a no.
func isLate(err error) bool {
	if errors.As(err, new(*unfinishedError)) {
		return true
	}
	nothing, ok := errors.AsType[*wait.NothingError](err)
	return ok && nothing.Late
}

// reportErrors prints errors, one a line. A hint stands under the last of those
// that share it.
func reportErrors(streams genericiooptions.IOStreams, say func(string) string, err error) {
	all := flatten(err)
	width, _ := terminal(streams.ErrOut)
	for i, one := range all {
		fmt.Fprintln(streams.ErrOut, layout.Fit("error: ", say(one.Error()), width))
		if hint := hintOf(one); hint != "" && (i == len(all)-1 || hintOf(all[i+1]) != hint) {
			fmt.Fprintln(streams.ErrOut, layout.Fit("  hint: ", say(hint), width))
		}
	}
}

func hintOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

// flatten takes errors.Join apart, so that each error gets a line of its own.
func flatten(err error) []error {
	var all []error
	switch e := err.(type) { //nolint:errorlint // the outermost error only: inside a wrapped one the text belongs together
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, flatten(one)...)
		}
	case *usageError:
		for _, one := range flatten(e.err) {
			all = append(all, &usageError{err: one, command: e.command})
		}
	default:
		all = append(all, err)
	}
	return all
}

// unread reports whether nobody reads what we write any more, as in
// "… | head". That is the reader's choice and no failure of the run.
func unread(err error) bool { return errors.Is(err, syscall.EPIPE) }

// sink keeps the first error of writing the answer: help and usage are written by code that
// looks at none, and what the mask has held back is written last of all.
type sink struct {
	io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
	}
	return n, err
}

// Unwrap returns what is written to.
func (s *sink) Unwrap() io.Writer { return s.Writer }

// lost returns why some of the answer was not written, if so.
func (s *sink) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// unfinishedError ends an apply that was out of time: nothing was refused, and what
// is left was told.
type unfinishedError struct{ error }

func (e *unfinishedError) Unwrap() error { return e.error }

// Hint says what to do about it.
func (e *unfinishedError) Hint() string { return "run it again: it continues where it stopped" }
