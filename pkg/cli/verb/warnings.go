package verb

import (
	"fmt"
	"sync/atomic"

	"github.com/spf13/pflag"
)

// StrictFlags are the flags of verbs to which the server may answer with warnings.
type StrictFlags struct{ warnings bool }

// Add adds the flag to a command's.
func (f *StrictFlags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.warnings, "warnings-as-errors", false,
		"Exit with 1 if the server returned a warning; nothing else changes")
}

// warningsError says that the server warned in a run in which that is an error.
type warningsError struct {
	warnings int64
	// err is how the run ended otherwise.
	err error
}

func (e *warningsError) Error() string {
	warnings := "1 warning"
	if e.warnings > 1 {
		warnings = fmt.Sprintf("%d warnings", e.warnings)
	}
	return "the server gave " + warnings + ", and --warnings-as-errors makes that an error"
}

func (e *warningsError) Unwrap() error { return e.err }

// End turns the end of a run into a no if the server warned during it. All warnings have
// been shown by then. An error that makes the result unknown stays as it is.
func (f *StrictFlags) End(err error, warned *atomic.Int64) error {
	n := warned.Load()
	if !f.warnings || n == 0 {
		return err
	}
	return &warningsError{warnings: n, err: err}
}
