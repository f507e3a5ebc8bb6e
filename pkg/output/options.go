package output

import (
	"io"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// PatchedFile is the text of a file before and after a patch. Name is its name in the patch.
type PatchedFile struct{ File, Name, Before, After string }

// Options configures a Printer. Out and Err are required.
type Options struct {
	Out, Err io.Writer
	// Format is the format of the results; empty means Table.
	Format string
	// Color enables colours on Out. Err never uses colours. See [UseColor].
	Color bool
	// Verbose lists every object that would otherwise only be counted.
	Verbose bool
	// Progress keeps a live status line on Err. It requires a terminal for which [CanRedraw]
	// returns true.
	Progress bool
	// Width returns the number of columns of Out. If Width is nil or returns 0, Out is not a
	// terminal.
	Width func() int
	// Height returns the number of rows of Out; nil or 0 means that it is unknown.
	Height func() int
	// ErrWidth returns the number of columns of Err; nil or 0 means 80.
	ErrWidth func() int
	// Now is the clock used to compute ages; nil means time.Now.
	Now func() time.Time
	Run string
	// OnRun is called after the run's id is printed; it may be nil.
	OnRun func()
	// Annotate returns a line that makes the CI system show a message at a place in a file. level
	// is error or warning. The line is empty if the object is not in a file. Annotate may be nil.
	Annotate func(level string, at object.Source, message string) string
	DryRun   bool
	// Unasked means that a dry run sends no requests to the server.
	Unasked            bool
	ContinueOnConflict bool
	Flags              command.Flags
	// Mask removes secret values from an event; nil masks nothing.
	Mask func(event.Event) event.Event
	// Stat counts the changes of a diff in the Table format, instead of showing them.
	Stat bool
	// Patch returns the manifest files with the changes of others, and notes on what is not in them. The
	// Patch format needs it.
	Patch func() ([]PatchedFile, []string)
	// External is the user's diff program. If External is set, it replaces the Table format.
	External *External
}
