package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Kept is what is left of the history of a set. Runs may have been removed from it by hand,
// and some may never have been written.
type Kept struct {
	// Runs and Faults are as [Decode] or [Heads] returns them.
	Runs   []Run
	Faults []error
	// Last is the run that stated something last, as the Lease of the set says: see
	// [ReadNote]. It has no ID if that does not say.
	Last Run
}

// To returns the run with the id or, without one, the last run that ended well before the one
// that stated something last. A run that was removed, was too large, or cannot be read counts
// like any other, and if it is the one to go back to, that is an error. Leaving it out would
// lead to a state that the user does not expect.
func (k Kept) To(id string) (Run, error) {
	all := k.all()
	if id != "" {
		return k.called(id, all)
	}
	if err := k.blind(); err != nil {
		return Run{}, &gapError{why: err.Error(), known: usableOf(all)}
	}
	last, ok := newest(all)
	if !ok {
		return Run{}, errNoneBefore
	}
	before, known := before(last, all)
	switch {
	case !known:
		return Run{}, &gapError{why: "it was not noted which run came before run " + last.ID, known: usableOf(all)}
	case before == Name{}:
		return Run{}, errNoneBefore
	}
	at := slices.IndexFunc(all, func(r Run) bool { return r.Name() == before })
	if at < 0 {
		return Run{}, &unusableError{id: before.ID, why: errNotKept.Error(), known: usableOf(all)}
	}
	return readable(all[at], all)
}

// called returns the run with the id.
func (k Kept) called(id string, all []Run) (Run, error) {
	known, named := usableOf(all), named(all, id)
	switch {
	case len(named) > 1:
		return Run{}, &ambiguousError{id: id, runs: names(named)}
	case len(named) == 0:
		for _, err := range k.Faults {
			if fault, ok := errors.AsType[*FaultError](err); ok && fault.blind && fault.Run == id {
				return Run{}, &unusableError{id: id, why: fault.Err.Error(), known: known}
			}
		}
		return Run{}, &UnknownRunError{ID: id, Known: known}
	case named[0].damage == nil && !named[0].TooLarge && !named[0].Usable():
		return Run{}, &unusableError{id: id, why: "it did not end well (" + string(named[0].Result) + ")", known: known}
	}
	return readable(named[0], all)
}

// Newest returns the run that stated something last; false if there is none, or if that is
// unknown.
func (k Kept) Newest() (Run, bool) {
	if k.blind() != nil {
		return Run{}, false
	}
	return newest(k.all())
}

// Keeps reports whether the history has the run, readable or not.
func (k Kept) Keeps(run Run) bool {
	return slices.ContainsFunc(k.all(), func(r Run) bool { return r.Name() == run.Name() && !errors.Is(r.damage, errNotKept) })
}

// Follow returns the run with its place behind all others. again: it states what the last one
// did, and that is kept and ended well, so it adds nothing.
func (k Kept) Follow(run Run) (placed Run, again bool) {
	for _, r := range append(k.all(), k.Last) {
		run.Place.Number = max(run.Place.Number, r.Place.Number)
	}
	run.Place.Number++
	if k.blind() != nil {
		return run, false
	}
	last, ok := newest(k.all())
	switch {
	case !ok:
		run.Place.Known = true
	case last.Result == Applied:
		run.Place.Known, run.Place.Before = true, last.Name()
	default:
		run.Place.Before, run.Place.Known = before(last, k.all())
	}
	return run, ok && last.damage == nil && last.Usable() && last.Input == run.Input
}

// Unlisted is [Kept.Follow] for a run that is not to be kept and has read no more than the note
// of the last one. sure: the run that wrote the note gave its lock back after that, so none has
// come since.
func Unlisted(last, run Run, sure bool) Run {
	// The note of a run that was killed may be missing; its Secrets have a higher number.
	const room = 1000
	placed, _ := Kept{Last: last}.Follow(run)
	placed.Place.Number += room
	if !sure || last.ID == "" {
		placed.Place.Known, placed.Place.Before = false, Name{}
	}
	return placed
}

// blind returns why it is unknown which run came last: a later version has written one; nil if
// it is known.
func (k Kept) blind() error {
	for _, err := range k.Faults {
		if fault, ok := errors.AsType[*FaultError](err); ok && fault.blind {
			return err
		}
	}
	return nil
}

// all returns the runs, those that cannot be read and the last one, the newest first. A run
// that does not say when it began is left out.
func (k Kept) all() []Run {
	all := slices.Clone(k.Runs)
	for _, err := range k.Faults {
		if fault, ok := errors.AsType[*FaultError](err); ok && !fault.of.Started.IsZero() {
			all = append(all, fault.of)
		}
	}
	if k.Last.ID != "" {
		at := slices.IndexFunc(all, func(r Run) bool { return r.Name() == k.Last.Name() })
		switch {
		case at < 0:
			last := k.Last
			last.damage = errNotKept
			all = append(all, last)
		case all[at].Place.Number > 0 && all[at].Place.Number <= k.Last.Place.Number:
			// Its end, or that it was tried again, may have been written to the Lease alone.
			all[at].Result, all[at].Started, all[at].Place = k.Last.Result, k.Last.Started, k.Last.Place
		}
	}
	slices.SortFunc(all, newestFirst)
	return all
}

// newest returns the run that stated something last. Of runs with a number, that is the one
// with the highest; one without is of a former version, and only its time is known.
func newest(all []Run) (Run, bool) {
	if len(all) == 0 {
		return Run{}, false
	}
	at := -1
	for i, r := range all {
		if r.Place.Number > 0 && (at < 0 || r.Place.Number > all[at].Place.Number) {
			at = i
		}
	}
	if at < 0 || all[0].Place.Number == 0 && all[0].Started.After(all[at].Started) {
		return all[0], true
	}
	return all[at], true
}

// before returns the last run before this one that ended well; zero if there was none.
func before(run Run, all []Run) (name Name, known bool) {
	if run.Place.Number > 0 {
		return run.Place.Before, run.Place.Known
	}
	for _, r := range all {
		switch {
		case newestFirst(run, r) >= 0:
		case r.Result == Applied:
			return r.Name(), true
		case r.Place.Number > 0:
			return r.Place.Before, r.Place.Known
		}
	}
	return Name{}, true
}

// readable returns the run if its objects can be read, and an error that names the others if
// not.
func readable(run Run, all []Run) (Run, error) {
	why := ""
	switch {
	case errors.Is(run.damage, errNotKept):
		why = errNotKept.Error()
	case run.damage != nil:
		why = "what it stated cannot be read: " + run.damage.Error()
	case run.TooLarge:
		why = "what it stated was too large to be kept"
	default:
		return run, nil
	}
	return Run{}, &unusableError{id: run.ID, why: why, known: usableOf(all)}
}

// Listed is a run as a list has it: by the name under which a rollback takes it, and in a line
// with what a person knows it by.
type Listed struct {
	Run
	Name, Line string
}

// List returns the runs that are kept, the newest first.
func (k Kept) List() []Listed {
	all := k.all()
	var out []Listed
	for i, name := range Names(all) {
		if !errors.Is(all[i].damage, errNotKept) {
			out = append(out, Listed{Run: all[i], Name: name, Line: all[i].as(name)})
		}
	}
	return out
}

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
