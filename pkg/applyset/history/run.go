package history

import (
	"errors"
	"slices"
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
	// Who is the user who ran it, if known.
	Who    string
	Result Result
	// Input is a digest of the run's input.
	Input string
	// Objects are what it stated, each as it was sent. Nil with TooLarge.
	Objects []Object
	// TooLarge: the objects did not fit, so the run cannot be rolled back to.
	TooLarge bool

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

// newestFirst orders runs by their start. Ids of runs that begin in one instant decide.
func newestFirst(a, b Run) int {
	if order := b.Started.Compare(a.Started); order != 0 {
		return order
	}
	return strings.Compare(b.ID, a.ID)
}

// To returns the run with the id or, without one, the last usable run before the newest
// usable one. Runs and faults are as Decode returns them: a run that cannot be read counts
// like any other, and if it is the one to go back to, that is an error. Leaving it out would
// lead to a state that the user does not expect.
func To(runs []Run, faults []error, id string) (Run, error) {
	runs = withUnread(runs, faults)
	if id != "" {
		named := named(runs, id)
		switch {
		case len(named) > 1:
			return Run{}, &ambiguousError{id: id, names: names(named)}
		case len(named) == 0:
			return Run{}, &UnknownRunError{ID: id, Known: usableOf(runs)}
		case named[0].TooLarge:
			return Run{}, &unusableError{id: id, why: "what it stated was too large to be kept", known: usableOf(runs)}
		case !named[0].Usable():
			return Run{}, &unusableError{id: id, why: "it did not end well (" + string(named[0].Result) + ")", known: usableOf(runs)}
		}
		return readable(named[0], runs)
	}
	var usable []Run
	for _, r := range runs {
		if r.Usable() {
			usable = append(usable, r)
		}
	}
	// If the newest run did not end well, the rollback leads to the last one that did.
	switch newestEndedWell := len(runs) > 0 && runs[0].Usable(); {
	case !newestEndedWell && len(usable) > 0:
		return readable(usable[0], runs)
	case len(usable) > 1:
		return readable(usable[1], runs)
	default:
		return Run{}, errNoneBefore
	}
}

// withUnread returns the runs with those that cannot be read, the newest first. A run that
// does not say when it began is left out.
func withUnread(runs []Run, faults []error) []Run {
	all := slices.Clone(runs)
	for _, err := range faults {
		if fault, ok := errors.AsType[*FaultError](err); ok && !fault.of.Started.IsZero() {
			all = append(all, fault.of)
		}
	}
	slices.SortFunc(all, newestFirst)
	return all
}

// readable returns the run if its objects can be read, and an error that names the others if
// not.
func readable(run Run, all []Run) (Run, error) {
	if run.damage != nil {
		return Run{}, &unusableError{id: run.ID, why: "what it stated cannot be read: " + run.damage.Error(), known: usableOf(all)}
	}
	return run, nil
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

func names(runs []Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.name())
	}
	return out
}

// usableOf names the runs that a set can go back to.
func usableOf(runs []Run) []string {
	var out []string
	for i, name := range Names(runs) {
		if runs[i].Usable() && runs[i].damage == nil {
			out = append(out, name)
		}
	}
	return out
}
