package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// format is that of what this version writes. A former version wrote none, and reads what
// this one writes; what says another format is of a later version, and is not interpreted.
const format = 1

// Place is where a run stands among those of its set, so that a gap in the history shows: the
// last run names the one to go back to, whether that is still kept or not.
type Place struct {
	// Number counts the runs of the set, from 1, with gaps; zero if none was noted. No clock
	// is needed to put runs in order.
	Number int64 `json:"number"`
	// Known: it is known which run came before.
	Known bool `json:"known"`
	// Before is the last run before this one that ended well; zero if there was none.
	Before Name `json:"before,omitzero"`
}

// Name tells a run from every other one of its set: people choose ids, and may give one to
// runs that state different things.
type Name struct {
	ID    string `json:"run"`
	Input string `json:"input"`
}

// Name returns what tells the run from others.
func (r Run) Name() Name { return Name{ID: r.ID, Input: r.Input} }

// note is what the Lease of a set says about the run that stated something last.
type note struct {
	Format int `json:"format"`
	Name
	Started time.Time `json:"started"`
	Result  Result    `json:"result"`
	Place
}

// Note returns what is written beside the history about the run that stated something last,
// for [ReadNote]. It has none of the run's objects.
func Note(run Run) (string, error) {
	text, err := json.Marshal(note{Format: format, Name: run.Name(), Started: run.Started.UTC(), Result: run.Result, Place: run.Place})
	return string(text), err
}

// ReadNote reads a note; the run has no ID if the text is empty. Any error is a [FaultError],
// to be passed on in [Kept].
func ReadNote(text string) (Run, error) {
	if text == "" {
		return Run{}, nil
	}
	var n note
	var of struct {
		Format json.Number `json:"format"`
	}
	if err := json.Unmarshal([]byte(text), &of); err != nil {
		return Run{}, &FaultError{note: true, Err: err, blind: true}
	}
	if err := later(of.Format.String()); err != nil {
		return Run{}, &FaultError{note: true, Err: err, blind: true}
	}
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return Run{}, &FaultError{note: true, Err: err, blind: true}
	}
	if n.ID == "" || n.Number < 1 {
		return Run{}, &FaultError{note: true, Err: errors.New("it has no id or no number"), blind: true}
	}
	return Run{ID: n.ID, Input: n.Input, Started: n.Started, Result: n.Result, Place: n.Place}, nil
}

// later returns an error unless the format is the one that this version knows.
func later(written string) error {
	if written == fmt.Sprint(format) {
		return nil
	}
	return &laterError{format: written}
}
