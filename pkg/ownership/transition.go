package ownership

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Kind says what happened to the owners of a path.
type Kind string

// What may happen to the owners of a path.
const (
	// Claimed: nobody held the path, now somebody does.
	Claimed Kind = "claimed"
	// Shared: all owners remain, and there are more.
	Shared Kind = "shared"
	// Taken: an owner lost the path, and somebody else holds it with another
	// value.
	Taken Kind = "taken"
	// Released: an owner let go. The path remains, with other owners or with none, as
	// what the server sets to its default.
	Released Kind = "released"
	// Lost: an owner does not hold the path any more, and somebody else does. Whether
	// it was taken or let go is not known: only the owners were seen, not the values.
	Lost Kind = "lost"
	// Removed: the path left the object, and its owners with it. Where no values were
	// seen, nobody holds it any more, which is all that is known.
	Removed Kind = "removed"
	// Unclear: the owners are others, and it is not shown that anybody took the
	// path or let go of it. Why says what else may be the reason.
	Unclear Kind = "unclear"
)

// Why says what stands in the way of calling a change of owners a takeover.
type Why string

// Reasons of an [Unclear] transition.
const (
	// CrossVersion: the entries are of several API versions, and are not
	// converted. An entry of a version that is no longer served vanishes alike.
	CrossVersion Why = "cross-version"
	// Bookkeeping: the API server moved the path to or from a manager of its own
	// making, before-first-apply or ancient-changes.
	Bookkeeping Why = "bookkeeping"
	// Reset: all managed fields were cleared.
	Reset Why = "reset"
	// Migration: a tool went from client-side to server-side apply and took its entry
	// along, or moved that of another tool as a whole.
	Migration Why = "migration"
	// SameValue: the value did not change. Entries were edited, or a mutating
	// webhook put the value back that it had (k/k#129960).
	SameValue Why = "same value"
)

// Transition is one path changing owners from one version of an object to the
// next.
type Transition struct {
	Path fieldpath.Path
	// Before and After are all owners of the path, sorted.
	Before, After []managedfields.Owner
	Kind          Kind
	// Why is set where Kind is Unclear.
	Why Why
	// Forced is set for a takeover by applying, which needs force. It is inferred:
	// nothing in the object or in an admission request says so.
	Forced bool
}

// Notable reports whether the transition is worth a record: somebody lost a path
// that somebody else holds.
func (t Transition) Notable() bool {
	return len(t.After) > 0 && (t.Kind == Taken || t.Kind == Released || t.Kind == Lost)
}

// Lost returns the owners that do not hold the path any more.
func (t Transition) Lost() []managedfields.Owner { return without(t.Before, t.After) }

// Gained returns the owners that did not hold the path before.
func (t Transition) Gained() []managedfields.Owner { return without(t.After, t.Before) }

// String says it in one line.
func (t Transition) String() string {
	text := t.Path.String() + " " + string(t.Kind)
	switch t.Kind {
	case Claimed, Shared:
		text += " by " + names(t.Gained())
	case Taken:
		text += " from " + names(t.Lost()) + " by " + names(t.After)
	case Released, Removed:
		text += " by " + names(t.Lost())
	case Lost:
		text += " by " + names(t.Lost()) + " to " + names(t.After)
	case Unclear:
		text = fmt.Sprintf("%s from %s to %s, unclear: %s", t.Path, names(t.Before), names(t.After), t.Why)
	}
	return text
}

// Transitions returns, sorted by path, all paths whose owners changed between two
// versions of an object, old and new, at one API version. Where old is nil, all
// is claimed. Applied one after the other, the transitions of an object's
// versions lead to exactly the owners that it has. The error is that of managed
// fields that cannot be read.
func Transitions(old, new *unstructured.Unstructured) ([]Transition, error) {
	before, err := managedfields.Entries(old)
	if err != nil {
		return nil, fmt.Errorf("old object: %w", err)
	}
	after, err := managedfields.Entries(new)
	if err != nil {
		return nil, fmt.Errorf("new object: %w", err)
	}
	return judgeOf(before, after, old, new).all(Handovers(before, after)), nil
}

func judgeOf(before, after []managedfields.Entry, old, new *unstructured.Unstructured) judge {
	j := judge{reset: len(after) == 0 && len(before) > 0, moves: movesOf(before, after)}
	if old != nil && new != nil && old.GetAPIVersion() == new.GetAPIVersion() {
		j.values = &values{old: NewLookup(old.Object), new: NewLookup(new.Object), version: new.GetAPIVersion()}
	}
	return j
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
		return "nobody"
	}
	out := make([]string, len(owners))
	for i, o := range owners {
		out[i] = o.String()
	}
	return strings.Join(out, ", ")
}
