package locking

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// Flags are those of verbs that change a set.
type Flags struct{ timeout time.Duration }

// timeoutFlag is how long to wait for the lock of a set.
const timeoutFlag = "lock-timeout"

// Add adds the flag. A minute outlasts the lock of a run that was killed.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.timeout, timeoutFlag, time.Minute,
		"How long to wait while another run has the lock of the set; 0 does not wait")
}

// Within is how long to wait. named: a set is named, and only sets have a lock.
func (f *Flags) Within(given func(flag string) bool, named bool) (time.Duration, error) {
	switch {
	case f.timeout < 0:
		return 0, errors.New("--" + timeoutFlag + " must not be negative")
	case given(timeoutFlag) && !named:
		return 0, errors.New("--" + timeoutFlag + " goes with --apply-set: without a set there is no lock")
	}
	return f.timeout, nil
}
