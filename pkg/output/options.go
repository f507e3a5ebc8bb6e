package output

import (
	"io"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options of a Printer. Out and Err are required.
type Options struct {
	Out, Err io.Writer
	// Format is the format of the results; empty means Table.
	Format string
	// Color enables colours on Out. Err never has colours. See [UseColor].
	Color bool
	// Verbose lists each of the objects that are otherwise only counted.
	Verbose bool
	// Progress keeps a live status line on Err. It requires a terminal that [CanRedraw] accepts.
	Progress bool
	// Width returns the number of columns of Out. If Width is nil or returns 0, Out is not a
	// terminal.
	Width func() int
	// ErrWidth returns the number of columns of Err; nil or 0 means 80.
	ErrWidth func() int
	// Now is the clock for ages; nil means time.Now.
	Now func() time.Time
	Run string
	// OnRun is called when the run's id has been printed; it may be nil.
	OnRun func()
	// Annotate returns a line with which the CI system shows an error or warning (the level) in a
	// file. The line is empty if the object is in no file. Annotate may be nil.
	Annotate func(level string, at object.Source, message string) string
	DryRun   bool
	// Unasked means that a dry run sends no requests to the server.
	Unasked            bool
	ContinueOnConflict bool
	Flags              command.Flags
	// Mask removes secret values from an event; nil removes nothing.
	Mask func(event.Event) event.Event
	// External is the user's diff program. If External is set, it replaces the Table format.
	External *External
}
