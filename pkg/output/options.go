package output

import (
	"io"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options of a Printer. Out and Err are required; zero values of the others are defaults.
type Options struct {
	// Out receives the results, Err progress and warnings.
	Out, Err io.Writer
	// Format is that of the results; empty means Table.
	Format string
	// Color colours results; Err is never coloured. See [UseColor].
	Color bool
	// Verbose lists objects that are otherwise only counted.
	Verbose bool
	// Progress keeps a live line at the bottom of Err, which must be a suitable terminal (see
	// [CanRedraw]). Without it, plain lines report progress.
	Progress bool
	// Width returns the number of columns of the terminal Out; nil or 0 if it is none, so that
	// lines may have any length.
	Width func() int
	// ErrWidth is the same for Err, and is called only with Progress; nil or 0 means 80.
	ErrWidth func() int
	// Now is the clock for the ages of owners; nil means time.Now.
	Now func() time.Time
	// Run is the id of the run.
	Run string
	// OnRun is called when the run's id was printed; it may be nil.
	OnRun func()
	// Annotate makes a line for the runner of a CI job by which it shows an error or a warning, which
	// level says, in the file where the object is written; empty if there is no such place. It may
	// be nil.
	Annotate func(level string, at object.Source, message string) string
	// DryRun: nothing is persisted.
	DryRun bool
	// Unasked: a dry run without the server.
	Unasked bool
	// ContinueOnConflict: the run continues after conflicts.
	ContinueOnConflict bool
	// Flags are added to printed commands.
	Flags command.Flags
	// Mask removes secret values from an event; nil removes nothing.
	Mask func(event.Event) event.Event
	// Over returns why the run is over; nil while it is not. It ends a template that would run
	// forever. Nil means never.
	Over func() error
	// External is the user's diff program, which replaces the text of a diff in the table format.
	External *External
}
