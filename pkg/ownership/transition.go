package ownership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Kind describes how the owners of a path changed.
type Kind string

const (
	// Claimed means that the path had no owner before and has one now.
	Claimed Kind = "claimed"
	// Shared means that all owners remain and there are new ones.
	Shared Kind = "shared"
	// Taken means that an owner lost the path and another owns it with a different value.
	Taken Kind = "taken"
	// Released means that an owner gave up the path. The path remains, possibly without owners, for
	// example as a field that the server sets to its default.
	Released Kind = "released"
	// Lost means that an owner no longer owns the path, but another owner does. It is unknown
	// whether the path was taken or released, because its values were not observed, or are not
	// stored; for example, the server might not store an empty map.
	Lost Kind = "lost"
	// Removed means that the path is gone from the object, along with its owners. If the values
	// were not observed, the path may still exist without an owner.
	Removed Kind = "removed"
	// Given means that the "give" verb changed the owners. No value changed.
	Given Kind = "given"
	// Unclear means that the owners changed, but nothing proves a takeover or a release.
	Unclear Kind = "unclear"
)

// Why is the reason that a change of owners is not a takeover.
type Why string

// These are the reasons for an [Unclear] transition.
const (
	// CrossVersion means that the entries are at different API versions. Managed fields are not
	// converted between versions. The reason also covers an entry that disappeared because its
	// version is no longer served.
	CrossVersion Why = "cross-version"
	// Bookkeeping means that the API server moved the path to or from one of its own managers,
	// before-first-apply or ancient-changes.
	Bookkeeping Why = "bookkeeping"
	// Reset means that all managed fields were cleared.
	Reset Why = "reset"
	// Migration means that a tool switched from client-side to server-side apply and moved its own
	// entry, or that another tool's entire entry was moved.
	Migration Why = "migration"
	// SameValue means that the value did not change: managed fields were edited, or a mutating
	// webhook restored the value (k/k#129960).
	SameValue Why = "same value"
)

// Transition is a path whose owners change from one version of an object to the next.
type Transition struct {
	Path          fieldpath.Path
	Before, After []managedfields.Owner
	Kind          Kind
	// Why is set if Kind is Unclear.
	Why Why
	// Forced means that an apply took the path, which requires force. It is inferred, because
	// neither the object nor the admission request says so.
	Forced bool
	// Values is set if admission saw the values and a record may keep them.
	Values ValueChange
}

// Notable reports whether the transition should be recorded, that is, whether an owner lost a path
// that another one owns.
func (t Transition) Notable() bool {
	return len(t.After) > 0 && (t.Kind == Taken || t.Kind == Released || t.Kind == Lost || t.Kind == Given)
}

// Lost returns the owners that no longer own the path.
func (t Transition) Lost() []managedfields.Owner { return without(t.Before, t.After) }

// Gained returns the owners that did not own the path before.
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
	case Given, Lost:
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

func isReal(o managedfields.Owner) bool {
	return o.Manager != ancientChanges && o.Manager != managedfields.BeforeFirstApply
}

func has(owners []managedfields.Owner, owner managedfields.Owner) bool {
	return slices.ContainsFunc(owners, owner.Equal)
}

// ancientChanges is the manager under which the API server merges the oldest Update entries of an
// object that has more than ten.
const ancientChanges = "ancient-changes"

// Hand marks the transitions of a write as [Given]. The write must come from the "give" verb. A
// path does not count as given if its value changed, or if the client that sent the write owns it
// afterwards.
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

// Outcome is the result of an attempt to record an occurrence.
type Outcome int

const (
	// OutcomeRecorded means that the occurrence is in a record, or needs none.
	OutcomeRecorded Outcome = iota
	// OutcomeLeft means that this replica left the occurrence to the leader.
	OutcomeLeft
	// OutcomeLost means that the occurrence will never be recorded. The caller has to declare a gap
	// in the history.
	OutcomeLost
	// OutcomeCounted means that the object's next record counts the occurrence, but does not list it.
	OutcomeCounted
)

// Handover is a path whose owners differ between two versions of an object.
type Handover struct {
	Path fieldpath.Path
	// Before and After are the owners of exactly this path, sorted; either may be empty.
	Before, After []managedfields.Owner
	// Inner means that paths below this one also have owners. The owners of this path need not own
	// the values in it.
	Inner bool
	// There means that paths below this one have owners both before and after. Both versions
	// therefore have this path.
	There bool
}

// Handovers returns, sorted by path, the paths whose owners differ between two versions of an
// object. It compares the owners' API versions, but not their times.
func Handovers(before, after []managedfields.Entry) []Handover {
	changed := fieldpath.NewSet()
	for _, e := range before {
		changed = changed.Union(e.Fields.Difference(managedfields.HeldBy(after, e.Owner)))
	}
	for _, e := range after {
		changed = changed.Union(e.Fields.Difference(managedfields.HeldBy(before, e.Owner)))
	}
	var out []Handover
	fieldpath.Each(changed, func(p fieldpath.Path) {
		was, inside := exactly(before, p)
		is, insideToo := exactly(after, p)
		if !slices.EqualFunc(was, is, managedfields.Owner.Equal) {
			out = append(out, Handover{Path: p.Clone(), Before: was, After: is, Inner: inside || insideToo, There: inside && insideToo})
		}
	})
	slices.SortFunc(out, func(a, b Handover) int { return a.Path.Compare(b.Path) })
	return out
}

// Fate returns the handover of a path from its previous owners (before, sorted) to its owners in
// the given entries (after). The result's Before and After may be equal. The former state of the
// paths below this one is unknown, so Fate assumes that they have not changed.
func Fate(p fieldpath.Path, before []managedfields.Owner, after []managedfields.Entry) Handover {
	is, inside := exactly(after, p)
	return Handover{Path: p, Before: before, After: is, Inner: inside, There: inside}
}

func exactly(entries []managedfields.Entry, p fieldpath.Path) (owners []managedfields.Owner, inside bool) {
	for _, e := range entries {
		self, below := membership(e.Fields, p)
		inside = inside || below
		if self {
			owners = append(owners, e.Owner)
		}
	}
	slices.SortFunc(owners, managedfields.Owner.Compare)
	return slices.CompactFunc(owners, managedfields.Owner.Equal), inside
}

func membership(set *fieldpath.Set, p fieldpath.Path) (self, inside bool) {
	for i, pe := range p {
		child, ok := fieldpath.Below(set, pe)
		if i == len(p)-1 {
			return set.Members.Has(pe), ok
		}
		if !ok {
			return false, false
		}
		set = child
	}
	return false, false
}
