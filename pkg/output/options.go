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
	// Progress keeps a live status line at the bottom of Err, which must be a terminal that
	// [CanRedraw] accepts. Otherwise, progress is printed as plain lines.
	Progress bool
	// Width returns the number of columns of Out. If Width is nil or returns 0, Out is not a
	// terminal, and lines may have any length.
	Width func() int
	// ErrWidth returns the number of columns of Err. It is called only if Progress is set; nil or 0
	// means 80 columns.
	ErrWidth func() int
	// Now is the clock for ages; nil means time.Now.
	Now func() time.Time
	Run string
	// OnRun is called when the run's id has been printed; it may be nil.
	OnRun func()
	// Annotate returns a line with which the CI system shows an error or warning (the level) at the
	// object's place in its file. The line is empty if the object has no such place. Annotate may
	// be nil.
	Annotate func(level string, at object.Source, message string) string
	DryRun   bool
	// Unasked means that a dry run sends no requests to the server.
	Unasked            bool
	ContinueOnConflict bool
	Flags              command.Flags
	// Mask removes secret values from an event; nil removes nothing.
	Mask func(event.Event) event.Event
	// External is the user's diff program. If it is set, it shows the differences instead of the
	// Table format.
	External *External
}
