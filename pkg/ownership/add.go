package ownership

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Add records a transition and reports whether the record changed. It ignores a transition that is
// not [Transition.Notable], or that was recorded before. Two transitions are the same if they have
// the same path at the same resource version. A second report of a transition may add the user or
// the values, or may show that a [Lost] path was taken, released or given.
//
// There is one exception. The net change over an unwatched period and the last step in that period
// end at the same version, but begin with different owners. Both are recorded.
//
// Resource versions order transitions (KEP-5504). Writers report all transitions of an object at
// once. So a transition older than all versions that its entry remembers was recorded before. If
// the record dropped entries, a transition older than all remaining entries was also recorded
// before.
func (r *Record) Add(t Transition, at Occasion) bool {
	if !t.Notable() || at.Excess {
		return false
	}
	e := entryOf(t, at)
	for i := range r.Entries {
		if old := &r.Entries[i]; old.Path == e.Path && slices.Contains(old.ResourceVersions, at.ResourceVersion) && !old.hides(e) {
			return old.complete(e)
		}
	}
	if slices.ContainsFunc(r.Entries, func(old Entry) bool { return old.between(e) && old.forgot(at.ResourceVersion) }) {
		return false
	}
	if i := slices.IndexFunc(r.Entries, e.SameParties); i >= 0 {
		e.follow(r.Entries[i])
		r.Entries = slices.Delete(r.Entries, i, i+1)
	} else if r.Dropped > 0 && len(r.Entries) > 0 && e.before(r.Entries[0]) {
		return false
	}
	i := len(r.Entries)
	for i > 0 && e.before(r.Entries[i-1]) {
		i--
	}
	r.Entries = slices.Insert(r.Entries, i, e)
	r.Dropped += at.Omitted
	if excess := r.surplus(); excess > 0 {
		r.Entries = slices.Delete(r.Entries, 0, excess)
		r.Dropped += excess
	}
	r.summarize()
	return true
}

func entryOf(t Transition, at Occasion) Entry {
	// Records store whole seconds. Truncating the time here keeps it the same when it is written
	// and read back.
	when := metav1.NewTime(at.Time.UTC().Truncate(time.Second))
	return Entry{
		Path: pathText(t.Path), Kind: t.Kind, From: holders(t.Before), To: holders(t.After),
		Forced: t.Forced, Gap: at.Gap, User: FitUser(at.User), FromValue: t.Values.From, ToValue: t.Values.To,
		Cut:   tooMuch(t.Before) || tooMuch(t.After),
		First: when, Last: when, Count: 1,
		ResourceVersions: []string{at.ResourceVersion},
	}
}

// hides reports whether this entry is the net change over an unwatched period and the given step is
// an observed change within that period. It assumes that both have the same path and share a
// version.
func (e Entry) hides(step Entry) bool { return e.Gap && !step.Gap && !e.between(step) }

// complete adds details that the first report did not have, if the entry's last occurrence is the
// reported transition. It reports whether it added any.
func (e *Entry) complete(again Entry) bool {
	if e.version() != again.version() || !slices.Equal(e.From, again.From) || !slices.Equal(e.To, again.To) {
		return false
	}
	judged := e.Kind == Lost && (again.Kind == Taken || peaceful(again.Kind) && e.Count == 1)
	if judged {
		e.Kind, e.Forced = again.Kind, again.Forced
	}
	named := e.User == "" && again.User != ""
	if named {
		e.User = again.User
	}
	valued := e.ToValue == "" && again.ToValue != ""
	if valued {
		e.FromValue, e.ToValue = again.FromValue, again.ToValue
	}
	return judged || named || valued
}

// SameParties reports whether two entries have the same path, the same owners (in the same or the
// opposite direction), and compatible kinds. [Lost] is compatible with [Taken], because a lost path
// may have been taken.
func (e Entry) SameParties(other Entry) bool {
	return e.between(other) && (e.Kind == other.Kind || !peaceful(e.Kind) && !peaceful(other.Kind))
}

func peaceful(k Kind) bool { return k == Released || k == Given }

func (e Entry) between(other Entry) bool {
	return e.Path == other.Path && (slices.Equal(e.From, other.From) && slices.Equal(e.To, other.To) ||
		slices.Equal(e.From, other.To) && slices.Equal(e.To, other.From))
}

// follow turns the entry into the next occurrence of an earlier one. Reports may arrive out of
// order, so the later occurrence determines the resulting entry.
func (e *Entry) follow(earlier Entry) {
	seen, version := slices.Clone(earlier.ResourceVersions), e.version()
	count, first, gap := earlier.Count+e.Count, earlier.First, earlier.Gap || e.Gap
	if e.First.Before(&first) {
		first = e.First
	}
	if e.before(earlier) {
		*e = earlier
	}
	i := len(seen)
	for i > 0 && object.Newer(seen[i-1], version) {
		i--
	}
	seen = slices.Insert(seen, i, version)
	e.Count, e.First, e.Gap = count, first, gap
	e.ResourceVersions = seen[max(0, len(seen)-maxSeen):]
}

// Covers reports whether the record contains everything that happened to the object up to a
// resource version, apart from what the writer itself gave up. Writers report all transitions of an
// object at once, so a recorded transition at a newer version proves that all earlier ones were
// reported.
func (r *Record) Covers(version string) bool {
	for _, e := range r.Entries {
		if object.Newer(e.version(), version) {
			return true
		}
	}
	return false
}

func (e Entry) forgot(version string) bool {
	return len(e.ResourceVersions) == maxSeen && object.Newer(e.ResourceVersions[0], version)
}

func (e Entry) version() string {
	if len(e.ResourceVersions) == 0 {
		return ""
	}
	return e.ResourceVersions[len(e.ResourceVersions)-1]
}

// Resource versions are compared first, because writers' clocks differ.
func (e Entry) before(other Entry) bool {
	switch {
	case object.Newer(other.version(), e.version()):
		return true
	case object.Newer(e.version(), other.version()):
		return false
	}
	return e.Last.Before(&other.Last)
}

// FitUser truncates a user's name to the length that a record can keep.
func FitUser(name string) string { return text.Truncate(name, maxUser+len(text.Ellipsis)) }

func pathText(p fieldpath.Path) string { return text.Truncate(p.String(), maxPath+len(text.Ellipsis)) }

// Net returns the transitions from the last owners in the record to the live ones, sorted by path.
// Use it after a period that was not watched. It recognizes tools that have since switched from
// updates to server-side apply. It misses owners that came and went during the period, and new
// owners of paths that have no entry. It returns an error if managed fields cannot be decoded.
func (r *Record) Net(live Owners) ([]Transition, error) {
	entries, err := live.Entries()
	if err != nil {
		return nil, fmt.Errorf("live owners: %w", err)
	}
	var out []Transition
	// Several entries may have the same path; the last of them is the newest.
	done := map[string]bool{}
	for _, e := range slices.Backward(r.Entries) {
		if done[e.Path] {
			continue
		}
		done[e.Path] = true
		if e.Cut {
			continue
		}
		path, err := fieldpath.ParsePath(e.Path)
		if err != nil { // The path was too long to be kept.
			continue
		}
		h := Fate(path, OwnersOf(e.To), entries)
		if slices.EqualFunc(h.Before, h.After, managedfields.Owner.Equal) {
			continue
		}
		out = append(out, classifier{reset: len(entries) == 0, apart: true, moves: movesSince(h.Before, entries)}.classify(h))
	}
	slices.SortFunc(out, func(a, b Transition) int { return a.Path.Compare(b.Path) })
	return out, nil
}

// String describes the entry in one line.
func (e Entry) String() string {
	lost := slices.DeleteFunc(slices.Clone(e.From), func(h Holder) bool { return slices.Contains(e.To, h) })
	what, from, to := e.Path+" "+string(e.Kind), names(OwnersOf(lost)), names(OwnersOf(e.To))
	if e.Kind == Taken {
		return what + " from " + from + " by " + to
	}
	if e.Kind == Lost {
		return what + " by " + from + " to " + to
	}
	return what + " by " + from
}

// OwnersOf converts the holders in a record to owners.
func OwnersOf(holders []Holder) []managedfields.Owner {
	out := make([]managedfields.Owner, len(holders))
	for i, h := range holders {
		out[i] = managedfields.Owner{Manager: h.Manager, Operation: h.Operation, Subresource: h.Subresource, APIVersion: h.APIVersion}
	}
	return out
}
