package output

import (
	"io"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options of a Printer. Out and Err are needed; of all others the zero value is
// the default.
type Options struct {
	// Out takes the results, Err progress and warnings.
	Out, Err io.Writer
	// Format of the results; empty means Table.
	Format string
	// Color marks up results; Err is never coloured. See [UseColor].
	Color bool
	// Verbose lists objects that would otherwise only be counted.
	Verbose bool
	// Progress keeps a live line at the bottom of Err, which has to be a terminal that
	// supports it (see [CanRedraw]). Without it, plain lines report how far the run is.
	Progress bool
	// Width is the number of columns of the terminal that Out is, measured each time; nil
	// or 0 if it is not a terminal: lines may then have any length.
	Width func() int
	// ErrWidth is the same for Err, and is asked only with Progress; nil or 0
	// means 80.
	ErrWidth func() int
	// Now is the clock for the ages of owners; nil means time.Now.
	Now func() time.Time
	// Run is the identifier of the run.
	Run string
	// OnRun is called when the run's id was printed; it may be nil.
	OnRun func()
	// Annotate makes a line for the runner of a CI job by which it shows an error in the file where
	// the object is written; empty if there is no such place. It may be nil.
	Annotate func(at object.Source, message string) string
	// DryRun: nothing is persisted.
	DryRun bool
	// Unasked: in a dry run, the server is not even asked what it would do.
	Unasked bool
	// ContinueOnConflict: the run continues past objects in conflict.
	ContinueOnConflict bool
	// Flags go into the commands that are printed to be pasted.
	Flags command.Flags
	// Mask removes secret values from an event; nil removes nothing.
	Mask func(event.Event) event.Event
	// Over returns why the run is over, and nil while it is not: it ends a template that
	// would run forever. A nil Over means never.
	Over func() error
	// External is the user's own diff program, which replaces the text of a diff
	// in the table format.
	External *External
}
