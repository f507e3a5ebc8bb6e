package output

import (
	"io"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
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
	// Verbose lists what is otherwise only counted.
	Verbose bool
	// Progress keeps a live line at the bottom of Err, which has to be a terminal
	// that understands it (see [CanRedraw]). Without it, plain lines tell how far
	// the run is.
	Progress bool
	// Width is the number of columns of the terminal that Out is, asked anew each
	// time; nil or 0 where it is none: lines may then have any length.
	Width func() int
	// ErrWidth is the same for Err, and is asked only with Progress; nil or 0
	// means 80.
	ErrWidth func() int
	// Now is the clock by which owners have an age; nil means time.Now.
	Now func() time.Time
	// Run is the identifier of the run.
	Run string
	// OnRun is called when that was told; nil if nobody wants to know.
	OnRun func()
	// DryRun tells that nothing is persisted.
	DryRun bool
	// Unasked tells that in a dry run the server is not asked either what it would
	// do.
	Unasked bool
	// PastConflicts tells that the run goes on past objects in conflict.
	PastConflicts bool
	// Flags go into the commands that are printed to be pasted.
	Flags command.Flags
	// Mask takes out of an event what nobody is to see; nil takes out nothing.
	Mask func(event.Event) event.Event
	// Over returns why the run is over, nil as long as it is not: it ends a template that
	// would go on for ever. nil is never.
	Over func() error
	// External is the user's own diff program, which replaces the text of a diff
	// in the table format.
	External *External
}
