package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Kept is the stored history of a set. Runs may be missing because users deleted them or because
// they were never written.
type Kept struct {
	// Runs and Faults are the results of [Decode] or [Heads].
	Runs   []Run
	Faults []error
	// Last is the last run that applied something, from the note in the set's Lease (see
	// [ReadNote]). Its ID is empty if there is no note.
	Last Run
}

// To returns the run with the id, even if it did not succeed. Without an id, it returns the last
// successful run before the newest one; if the newest one is a rollback that did not succeed, it
// returns the run to which that one was to go back. If the run cannot be used, To returns an error,
// because the user would not expect an even older run.
func (k Kept) To(id string) (Run, error) {
	all := k.runs()
	if id != "" {
		return k.called(id, all)
	}
	if err := k.blind(); err != nil {
		return Run{}, object.Hinted(naming(available(all)), "it is unknown which run to roll back to: %s", err.Error())
	}
	last, ok := newest(all)
	if !ok {
		return Run{}, noneBefore(all)
	}
	before, known := before(last, all)
	if target := last.Unfinished(); target != (Name{}) {
		before, known = target, true
	}
	switch {
	case !known:
		return Run{}, object.Hinted(naming(available(all)), "it is unknown which run to roll back to: the run before run %s is not recorded", last.ID)
	case before == Name{}:
		return Run{}, noneBefore(all)
	}
	at := slices.IndexFunc(all, func(r Run) bool { return r.Name() == before })
	if at < 0 {
		return Run{}, unusable(before.ID, errNotKept.Error(), available(all))
	}
	return readable(all[at], all)
}

func (k Kept) called(id string, all []Run) (Run, error) {
	known, named := available(all), named(all, id)
	switch {
	case len(named) > 1:
		return Run{}, object.Hinted("name one of them:"+listed(names(named)),
			"the history has %d runs with the id %s and different manifests", len(named), id)
	case len(named) == 0:
		for _, err := range k.Faults {
			if fault, ok := errors.AsType[*FaultError](err); ok && fault.blind && fault.Run == id {
				return Run{}, unusable(id, fault.Err.Error(), known)
			}
		}
		return Run{}, object.Hinted(others(known), "the history has no run %s", id)
	}
	return readable(named[0], all)
}

// Newest returns the last run that applied something, if it is known.
func (k Kept) Newest() (Run, bool) {
	if k.blind() != nil {
		return Run{}, false
	}
	return newest(k.runs())
}

// Keeps reports whether the history contains the run, even if the run is not readable.
func (k Kept) Keeps(run Run) bool {
	return slices.ContainsFunc(k.runs(), func(r Run) bool { return r.Name() == run.Name() && !errors.Is(r.damage, errNotKept) })
}

// Follow returns the run with a Place after all other runs. again is set if the run adds nothing:
// the last run succeeded with the same input, and its manifests are stored.
func (k Kept) Follow(run Run) (placed Run, again bool) {
	for _, r := range append(k.runs(), k.Last) {
		run.Place.Number = max(run.Place.Number, r.Place.Number)
	}
	run.Place.Number++
	if k.blind() != nil {
		return run, false
	}
	last, ok := newest(k.runs())
	run.Place.Plans = last.Place.Plans
	switch {
	case !ok:
		run.Place.Known = true
	case last.Result == Applied:
		run.Place.Known, run.Place.Before = true, last.Name()
	case last.Unfinished() != Name{} && last.Result != RolledBack && run.Place.RollbackTo == Name{}:
		run.Place.Known, run.Place.Before = true, last.Unfinished() // The user left the run before the rollback.
	default:
		run.Place.Before, run.Place.Known = before(last, k.runs())
	}
	return run, ok && last.damage == nil && last.Usable() && last.Input == run.Input
}

// Unlisted returns the run with a Place, like [Kept.Follow], but needs only the last run, as
// described by its note. sure is set if the run that wrote the note has released its lock, so no
// other run can have followed it.
func Unlisted(last, run Run, sure bool) Run {
	// A killed run may have written Secrets with a higher number but no note.
	const capacity = 1000
	placed, _ := Kept{Last: last}.Follow(run)
	placed.Place.Number += capacity
	if !sure || last.ID == "" {
		placed.Place.Known, placed.Place.Before = false, Name{}
	}
	return placed
}

// blind returns an error if the last run is unknown: a later version of this program wrote one of
// the runs, or the note of the last run cannot be read.
func (k Kept) blind() error {
	for _, err := range k.Faults {
		if fault, ok := errors.AsType[*FaultError](err); ok && fault.blind {
			return err
		}
	}
	return nil
}

// runs returns the readable runs, the unreadable runs and the last run, newest first. It omits runs
// without a start time.
func (k Kept) runs() []Run {
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
			// The Lease may be the only record of a run's end, or of its second attempt.
			all[at].Result, all[at].Started, all[at].Place = k.Last.Result, k.Last.Started, k.Last.Place
		}
	}
	slices.SortFunc(all, newestFirst)
	return all
}

// newest returns the run with the highest number. A run recorded by an earlier version of this
// program has no number, and is ordered by its start time.
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

// before returns the last successful run before the given one; zero if there was none.
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

func readable(run Run, all []Run) (Run, error) {
	why := ""
	switch {
	case errors.Is(run.damage, errNotKept):
		why = errNotKept.Error()
	case run.damage != nil:
		why = "its manifests cannot be read: " + run.damage.Error()
	case run.TooLarge:
		why = "its manifests were too large for the history"
	default:
		return run, nil
	}
	return Run{}, unusable(run.ID, why, available(all))
}

// Listed is a run in a list. Name is the name that a rollback accepts. Line shows the run's time
// and user.
type Listed struct {
	Run
	Name, Line string
}

// List returns the stored runs, newest first.
func (k Kept) List() []Listed {
	all := k.runs()
	var out []Listed
	for i, name := range Names(all) {
		if !errors.Is(all[i].damage, errNotKept) {
			out = append(out, Listed{Run: all[i], Name: name, Line: all[i].as(name)})
		}
	}
	return out
}

// noneBefore returns the error of a history in which no run before the newest one succeeded.
func noneBefore(all []Run) error {
	err := errors.New("the history has no earlier successful run")
	known := available(all)
	if len(known) < 2 { // The newest run is one of them.
		return &object.HintedError{Err: err, Advice: "apply the manifests that you want to roll back to"}
	}
	return &object.HintedError{Err: err, Advice: naming(known)}
}

func others(known []string) string {
	if len(known) == 0 {
		return "the history has no run to roll back to: apply the manifests that you want"
	}
	return "available runs:" + listed(known)
}

func listed(runs []string) string { return "\n    " + strings.Join(runs, "\n    ") }

func naming(known []string) string {
	if len(known) == 0 {
		return others(known)
	}
	return "name one with --to; " + others(known)
}

func unusable(id, why string, known []string) error {
	return object.Hinted(others(known), "cannot roll back to run %s: %s", id, why)
}

var errNotKept = errors.New("it is not in the history: its Secrets were deleted, or never written")

// FaultError says that a run in the history cannot be read.
type FaultError struct {
	// Run is an id or, if that is unknown, the name of a Secret.
	Run string
	Err error

	note bool
	// blind is set if the run's place among the other runs is unknown.
	blind bool
	// The run, without its objects. Started is zero if the start time cannot be read.
	of Run
}

func (e *FaultError) Error() string {
	if e.note {
		return fmt.Sprintf("the last run, as recorded in the set's Lease: %v", e.Err)
	}
	return fmt.Sprintf("run %s in the history: %v", e.Run, e.Err)
}

func (e *FaultError) Unwrap() error { return e.Err }
