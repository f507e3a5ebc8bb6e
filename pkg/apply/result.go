package apply

import "fmt"

// Outcome counts what kept a run from doing all it was asked to.
type Outcome struct {
	// Conflicts, Rejected and Unknown are numbers of objects: contested, refused
	// by the server, and those of which nothing can be said because the server
	// could not be asked.
	Conflicts, Rejected, Unknown int
}

// IncompleteError says that not everything was applied. Events have reported what happened
// to each object.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything was applied: %d in conflict, %d refused, %d unknown",
		e.Conflicts, e.Rejected, e.Unknown)
}
