package deletion

import (
	"errors"
	"fmt"
)

// Outcome counts what kept a run from its end.
type Outcome struct {
	// Remaining, Refused and Unknown are numbers of objects: still there when their time
	// was over, refused by the server, and of unknown fate.
	Remaining, Refused, Unknown int
}

// IncompleteError says that not everything is gone. Events have reported what happened to
// each object.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything is gone: %d still there, %d refused, %d unknown", e.Remaining, e.Refused, e.Unknown)
}

// ErrDeclined is what Confirm returns when the user said no.
var ErrDeclined = errors.New("not confirmed")
