package ownership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Kind says what happened to the owners of a path.
type Kind string

const (
	// Claimed: the path had no owner, and now has one.
	Claimed Kind = "claimed"
	// Shared: all owners remain, and more joined them.
	Shared Kind = "shared"
	// Taken: an owner lost the path, and another one holds it with a different value.
	Taken Kind = "taken"
	// Released: an owner gave the path up. The path remains, with other owners or with none, such
	// as a field that the server sets to its default.
	Released Kind = "released"
	// Lost: an owner no longer holds the path, and another one does. It is unknown whether it was
	// taken or given up: only the owners were seen, not the values, or there are none, as for an
	// empty map that the API server does not store.
	Lost Kind = "lost"
	// Removed: the path left the object, and its owners with it. If the values were not seen, it is
	// only known that it has no owner any more.
	Removed Kind = "removed"
	// Given: the path was given to its present owners by the verb give. No value changed.
	Given Kind = "given"
	// Unclear: the owners changed, and nothing proves that the path was taken or given up. Why has
	// another possible reason.
	Unclear Kind = "unclear"
)

// Why is the reason why a change of owners is not called a takeover.
type Why string

// The reasons for an [Unclear] transition.
const (
	// CrossVersion: the entries are of several API versions and are not converted. An entry of a
	// version that is no longer served vanishes in the same way.
	CrossVersion Why = "cross-version"
	// Bookkeeping: the API server moved the path to or from a manager of its own,
	// before-first-apply or ancient-changes.
	Bookkeeping Why = "bookkeeping"
	// Reset: all managed fields were cleared.
	Reset Why = "reset"
	// Migration: a tool changed from client-side to server-side apply and moved its entry, or moved
	// another tool's as a whole.
	Migration Why = "migration"
	// SameValue: the value did not change. Entries were edited, or a mutating webhook
	// restored the value (k/k#129960).
	SameValue Why = "same value"
)

// Transition is a path that changes owners from one version of an object to the next.
type Transition struct {
	Path fieldpath.Path
	// Before and After are all owners of the path, sorted.
	Before, After []managedfields.Owner
	Kind          Kind
	// Why is set if Kind is Unclear.
	Why Why
	// Forced is set for a takeover by an apply, which needs force. It is inferred: neither the
	// object nor the admission request states it.
	Forced bool
	// Values are set if admission saw them, and a record may keep them.
	Values ValueChange
}

// Notable reports whether the transition is worth recording: an owner lost a path that another one
// holds.
func (t Transition) Notable() bool {
	return len(t.After) > 0 && (t.Kind == Taken || t.Kind == Released || t.Kind == Lost || t.Kind == Given)
}

// Lost returns the owners that no longer hold the path.
func (t Transition) Lost() []managedfields.Owner { return without(t.Before, t.After) }

// Gained returns the owners that did not hold the path before.
func (t Transition) Gained() []managedfields.Owner { return without(t.After, t.Before) }

// String describes the transition in one line.
func (t Transition) String() string {
	text := t.Path.String() + " " + string(t.Kind)
	switch t.Kind {
	case Claimed, Shared:
		text += " by " + names(t.Gained())
	case Taken:
		text += " from " + names(t.Lost()) + " by " + names(t.After)
	case Released, Removed:
		text += " by " + names(t.Lost())
	case Given:
		text += " by " + names(t.Lost()) + " to " + names(t.After)
	case Lost:
		text += " by " + names(t.Lost()) + " to " + names(t.After)
	case Unclear:
		text = fmt.Sprintf("%s from %s to %s, unclear: %s", t.Path, names(t.Before), names(t.After), t.Why)
	}
	return text
}

func without(owners, others []managedfields.Owner) []managedfields.Owner {
	var out []managedfields.Owner
	for _, o := range owners {
		if !has(others, o) {
			out = append(out, o)
		}
	}
	return out
}

func names(owners []managedfields.Owner) string {
	if len(owners) == 0 {
		return "no owner"
	}
	out := make([]string, len(owners))
	for i, o := range owners {
		out[i] = o.String()
	}
	return strings.Join(out, ", ")
}

func applies(o managedfields.Owner) bool { return o.Operation == managedfields.Apply }

// isReal reports whether a manager is a real writer and not the API server's bookkeeping.
func isReal(o managedfields.Owner) bool {
	return o.Manager != ancientChanges && o.Manager != managedfields.BeforeFirstApply
}

func has(owners []managedfields.Owner, owner managedfields.Owner) bool {
	return slices.ContainsFunc(owners, owner.Equal)
}

// ancientChanges is the manager into which the API server folds the oldest
// updaters of an object that has more than ten.
const ancientChanges = "ancient-changes"

// Hand marks transitions with known values as given away, as the sender's field manager says. It
// believes that only if the objects agree: a path whose value changed is taken, whoever the sender
// is, and so is one that the sender kept.
func Hand(transitions []Transition) {
	for i := range transitions {
		t := &transitions[i]
		quiet := t.Kind == Released || t.Kind == Unclear && (t.Why == SameValue || t.Why == Migration)
		kept := slices.ContainsFunc(t.Gained(), func(o managedfields.Owner) bool { return o.Manager == managedfields.Giver })
		if quiet && !kept && len(t.After) > 0 && len(t.Lost()) > 0 {
			t.Kind, t.Why = Given, ""
		}
	}
}

// Outcome is the result for an occurrence that was passed to a recorder.
type Outcome int

const (
	// OutcomeRecorded: it is in a record, or needs none.
	OutcomeRecorded Outcome = iota
	// OutcomeLeft: this replica does not record it; the leader does.
	OutcomeLeft
	// OutcomeLost: it is in no record and never will be. The caller has to declare a gap in the
	// history.
	OutcomeLost
)
