package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

var errNoneBefore error = &object.HintedError{
	Err:    errors.New("the history has no earlier run that ended well"),
	Advice: "apply the manifests that you want to go back to",
}

// UnknownRunError says that the history has no run of that id.
type UnknownRunError struct {
	ID string
	// Known are the runs that a set can go back to, each with when it began and who ran it, the
	// newest first.
	Known []string
}

func (e *UnknownRunError) Error() string { return "the history has no run " + e.ID }

// Hint names the runs that there are.
func (e *UnknownRunError) Hint() string {
	return others(e.Known)
}

// others names the runs that a set can go back to, or says what to do without any.
func others(known []string) string {
	if len(known) == 0 {
		return "no run in it ended well, so there is none to go back to: apply the manifests that you want"
	}
	return "it can go back to:" + listed(known)
}

// listed puts each run on a line of its own: it is chosen by its time.
func listed(runs []string) string { return "\n    " + strings.Join(runs, "\n    ") }

// naming is others where no run was named.
func naming(known []string) string {
	if len(known) == 0 {
		return others(known)
	}
	return "name one with --to; " + others(known)
}

// ambiguousError says that several runs have the id.
type ambiguousError struct {
	id   string
	runs []string
}

func (e *ambiguousError) Error() string {
	return fmt.Sprintf("the history has %d runs with the id %s, which stated different things", len(e.runs), e.id)
}

// Hint names them.
func (e *ambiguousError) Hint() string { return "name one of them:" + listed(e.runs) }

// unusableError says that a run in the history cannot be rolled back to.
type unusableError struct {
	id, why string
	known   []string
}

func (e *unusableError) Error() string {
	return fmt.Sprintf("there is no way back to run %s: %s", e.id, e.why)
}

// Hint names the runs that there is one to.
func (e *unusableError) Hint() string { return others(e.known) }

// errNotKept is why there is no way back to a run that the history does not have, although
// it is known that there was one.
var errNotKept = errors.New("it is not in the history: its Secrets were deleted, or never written")

// gapError says that it is unknown which run came before the last.
type gapError struct {
	why   string
	known []string
}

func (e *gapError) Error() string {
	return "it is unknown which run to go back to: " + e.why
}

// Hint says how to name one.
func (e *gapError) Hint() string { return naming(e.known) }

// laterError says that a later version of this program has written something.
type laterError struct{ format string }

func (e *laterError) Error() string {
	return fmt.Sprintf("a later version has written it (format %s, and this version knows %d)", e.format, format)
}

// FaultError says that a run in the history cannot be read. The others can.
type FaultError struct {
	// Run is its id, or the name of the Secret if that has none.
	Run string
	Err error

	// note: it is the note in the Lease that cannot be read.
	note bool
	// blind: it is unknown which place the run has among others.
	blind bool
	// of is the run without its objects; without a start time if that cannot be read either.
	of Run
}

func (e *FaultError) Error() string {
	if e.note {
		return fmt.Sprintf("the run that was the last, as the Lease of the set says: %v", e.Err)
	}
	return fmt.Sprintf("run %s in the history: %v", e.Run, e.Err)
}

func (e *FaultError) Unwrap() error { return e.Err }
