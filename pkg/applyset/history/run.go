// Package history stores the manifests of a set's last runs in compressed Secrets of limited size.
// Start with [Encode] and [Decode]; [Excess] returns the Secrets to delete. The package never
// stores values of Secrets outside the parent's namespace, and sends no requests.
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

// Result is the outcome of a run.
type Result string

const (
	// Running means that the run has not ended, or was killed.
	Running Result = "running"
	// Applied means that the whole input was applied.
	Applied Result = "applied"
	// Failed means that part of the input was not applied.
	Failed Result = "failed"
	// RolledBack means that the run was rolled back.
	RolledBack Result = "rolledBack"
	// Refused means that nothing was written, because a user must confirm the run. This result is
	// recorded only in the lock.
	Refused Result = "refused"
)

// Run is one run of a set.
type Run struct {
	// ID is the run's ID in the server's audit log.
	ID string
	// Started is the start time, according to the clock of the machine that started the run.
	Started time.Time
	// The user of the run; may be empty.
	Who    string
	Result Result
	Input  string
	// Objects are the manifests as they were sent; nil if TooLarge.
	Objects []Object
	// TooLarge means that the manifests exceed the limit of the history, so a rollback is
	// impossible.
	TooLarge bool
	// Failed lists some of the objects that the run did not apply, as people name them.
	Failed []string
	// Place is zero if an earlier version of this program recorded the run.
	Place Place

	damage error
}

// Object is one applied manifest.
type Object struct {
	Manifest *unstructured.Unstructured
	// Withheld is set if the values of a Secret outside the parent's namespace were left out.
	Withheld bool
}

// Usable reports whether the set can be rolled back to the run without naming it.
func (r Run) Usable() bool { return r.Result == Applied && !r.TooLarge }

// ObjectOf returns a copy of a manifest for the history. A Secret outside the parent's namespace
// loses its values.
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
	// The annotation holds a copy of the values.
	if notes := u.GetAnnotations(); notes[lastApplied] != "" {
		delete(notes, lastApplied)
		u.SetAnnotations(notes)
	}
	return Object{Manifest: u, Withheld: withheld}
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// newestFirst orders runs by number, start time and id. If either run has no number, it ignores
// numbers.
func newestFirst(a, b Run) int {
	if a.Place.Number > 0 && b.Place.Number > 0 && a.Place.Number != b.Place.Number {
		return cmp.Compare(b.Place.Number, a.Place.Number)
	}
	if order := b.Started.Compare(a.Started); order != 0 {
		return order
	}
	return strings.Compare(b.ID, a.ID)
}

// named returns the runs that the name identifies. A name is an id, perhaps followed by the
// beginning of the input's digest.
func named(runs []Run, name string) []Run {
	var out []Run
	for _, r := range runs {
		if strings.EqualFold(r.ID, name) || strings.EqualFold(r.name(), name) {
			out = append(out, r)
		}
	}
	return out
}

// Names returns the names that a rollback accepts. A name is the run's id, with the beginning of
// the input's digest appended if several runs share the id.
func Names(runs []Run) []string {
	out := make([]string, len(runs))
	for i, r := range runs {
		if out[i] = r.ID; len(named(runs, r.ID)) > 1 {
			out[i] = r.name()
		}
	}
	return out
}

func (r Run) name() string {
	const enough = 6 // digits that distinguish the few runs with the same id
	_, digits, _ := strings.Cut(r.Input, ":")
	return r.ID + "." + digits[:min(enough, len(digits))]
}

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

// available describes the runs whose manifests are kept.
func available(runs []Run) []string {
	var out []string
	for i, name := range Names(runs) {
		r := runs[i]
		if r.damage != nil || r.TooLarge {
			continue
		}
		text := r.as(name)
		if r.Result != Applied {
			text += ": " + string(r.Result)
		}
		out = append(out, text)
	}
	return out
}

// Unfinished returns the run to which the run was to go back; zero if the run is no rollback, or
// has succeeded.
func (r Run) Unfinished() Name {
	if r.Result == Applied {
		return Name{}
	}
	return r.Place.RollbackTo
}

// format is the version of the stored format. Runs from earlier versions of this program have no
// format, and can be read. Runs with a later format cannot.
const format = 1

// Place is a run's place in the history. Each run names the last successful run before it, even if
// that run is no longer stored, so that gaps can be detected.
type Place struct {
	// Number starts at 1 and increases with each run, possibly with gaps. It orders runs without
	// relying on clocks. Zero means unknown.
	Number int64 `json:"number"`
	Known  bool  `json:"known"`
	// Before is the last successful run before this one; zero if there was none.
	Before Name `json:"before,omitzero"`
	// RollbackTo is the run that this one goes back to; zero if it is no rollback.
	RollbackTo Name `json:"rollbackTo,omitzero"`
	// Plans lists the last reviewed plans that runs up to this one have confirmed, oldest first.
	Plans []Plan `json:"plans,omitempty"`
}

// Name identifies a run in its set. Users choose ids, and may reuse an id with different input.
type Name struct {
	ID    string `json:"run"`
	Input string `json:"input"`
}

// Name returns the identity of the run in its set.
func (r Run) Name() Name { return Name{ID: r.ID, Input: r.Input} }

// A note in the set's Lease describes the last run that applied something.
type note struct {
	Format int `json:"format"`
	Name
	Started time.Time `json:"started"`
	Result  Result    `json:"result"`
	Place
}

// Note encodes the run without its objects.
func Note(run Run) (string, error) {
	text, err := json.Marshal(note{Format: format, Name: run.Name(), Started: run.Started.UTC(), Result: run.Result, Place: run.Place})
	return string(text), err
}

// ReadNote decodes a note. If text is empty, the run has no ID. An error is a [FaultError], and
// belongs in [Kept.Faults].
func ReadNote(text string) (Run, error) {
	if text == "" {
		return Run{}, nil
	}
	var n note
	var of struct {
		Format json.Number `json:"format"`
	}
	err := json.Unmarshal([]byte(text), &of)
	if err == nil {
		err = later(of.Format.String())
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &n)
	}
	if err == nil && (n.ID == "" || n.Number < 1) {
		err = errors.New("its id or number is missing")
	}
	if err != nil {
		return Run{}, &FaultError{note: true, Err: err, blind: true}
	}
	return Run{ID: n.ID, Input: n.Input, Started: n.Started, Result: n.Result, Place: n.Place}, nil
}

func later(written string) error {
	if written == fmt.Sprint(format) {
		return nil
	}
	return fmt.Errorf("it was written by a later version (format %s; this version supports %d)", written, format)
}
