// Package history keeps the manifests of the last runs of a set, as compressed Secrets of bounded
// size. [Encode] makes them, [Decode] reads them and detects missing or changed parts, [Excess]
// names those to delete. Values of Secrets outside the parent's namespace are never kept. It sends
// nothing.
package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Result is how a run ended.
type Result string

// The results.
const (
	// Running is the result of a run that has not ended, or was killed.
	Running Result = "running"
	// Applied runs stated their whole input.
	Applied Result = "applied"
	// Failed runs did not; RolledBack ones took back what they had written.
	Failed     Result = "failed"
	RolledBack Result = "rolledBack"
)

// Run is one run of a set.
type Run struct {
	// ID is the run's, as in the server's audit log.
	ID string
	// Started is when it began, by the clock of the machine that it ran on.
	Started time.Time
	// The user who ran it, if known.
	Who    string
	Result Result
	// Input is a digest of the run's input.
	Input string
	// Objects are what it stated, each as it was sent. Nil with TooLarge.
	Objects []Object
	// TooLarge: the objects did not fit, so the run cannot be rolled back to.
	TooLarge bool
	// Place is where the run stands among those of its set; zero for a run of a version that
	// noted none.
	Place Place

	// damage is why its objects cannot be read.
	damage error
}

// Object is one object as a run stated it.
type Object struct {
	Manifest *unstructured.Unstructured
	// Withheld: it is a Secret of another namespace than the parent's, and its values are
	// not kept.
	Withheld bool
}

// Usable reports whether the set can be rolled back to the run: it stated its whole
// input, and that was kept.
func (r Run) Usable() bool { return r.Result == Applied && !r.TooLarge }

// ObjectOf returns an object as it is kept beside a parent: a Secret of another namespace
// loses its values. The manifest is not changed.
func ObjectOf(parent object.Ref, manifest *unstructured.Unstructured) Object {
	u := manifest.DeepCopy()
	isSecret := u.GroupVersionKind().GroupKind().String() == "Secret"
	if !isSecret || parent.Namespace != "" && u.GetNamespace() == parent.Namespace {
		return Object{Manifest: u}
	}
	withheld := false
	for _, field := range []string{"data", "stringData"} {
		if _, has := u.Object[field]; has {
			delete(u.Object, field)
			withheld = true
		}
	}
	// kubectl's client-side apply keeps a copy of the values.
	if notes := u.GetAnnotations(); notes[lastApplied] != "" {
		delete(notes, lastApplied)
		u.SetAnnotations(notes)
	}
	return Object{Manifest: u, Withheld: withheld}
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// newestFirst orders runs by their numbers and, if one has none, by their start. Ids of runs
// that begin in one instant decide.
func newestFirst(a, b Run) int {
	if a.Place.Number > 0 && b.Place.Number > 0 && a.Place.Number != b.Place.Number {
		return cmp.Compare(b.Place.Number, a.Place.Number)
	}
	if order := b.Started.Compare(a.Started); order != 0 {
		return order
	}
	return strings.Compare(b.ID, a.ID)
}

// named returns the runs that are called so: by their id, or by that and what they stated.
func named(runs []Run, name string) []Run {
	var out []Run
	for _, r := range runs {
		if strings.EqualFold(r.ID, name) || strings.EqualFold(r.name(), name) {
			out = append(out, r)
		}
	}
	return out
}

// Names returns how runs are named for a rollback: by their ids, and by what they stated
// where several have one.
func Names(runs []Run) []string {
	out := make([]string, len(runs))
	for i, r := range runs {
		if out[i] = r.ID; len(named(runs, r.ID)) > 1 {
			out[i] = r.name()
		}
	}
	return out
}

// name tells a run from others of its id.
func (r Run) name() string {
	const enough = 6 // digits: runs of one id are few
	_, digits, _ := strings.Cut(r.Input, ":")
	return r.ID + "." + digits[:min(enough, len(digits))]
}

// as is how the run is listed under a name: with what a person knows it by.
func (r Run) as(name string) string {
	name += " of " + r.Started.UTC().Format(time.RFC3339)
	if r.Who != "" {
		name += ", by " + r.Who
	}
	return name
}

func names(runs []Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.as(r.name()))
	}
	return out
}

// usableOf lists the runs that a set can go back to.
func usableOf(runs []Run) []string {
	var out []string
	for i, name := range Names(runs) {
		if runs[i].Usable() && runs[i].damage == nil {
			out = append(out, runs[i].as(name))
		}
	}
	return out
}

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
