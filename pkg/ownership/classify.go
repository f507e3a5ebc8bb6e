package ownership

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

type classifier struct {
	// values is nil if the values are unknown.
	values *values
	reset  bool
	// apart means that there may be unknown versions between the two versions of the object.
	apart bool
	moves []move
}

type values struct {
	old, new *Lookup
	// version is the API version of both objects. In an entry at another version, a path may have a
	// different name.
	version string
}

func (c classifier) transitions(handovers []Handover) []Transition {
	out := make([]Transition, 0, len(handovers))
	for _, h := range handovers {
		out = append(out, c.classify(h))
	}
	return out
}

func (c classifier) classify(h Handover) Transition {
	t := Transition{Path: h.Path, Before: h.Before, After: h.After}
	lost, gained := t.Lost(), t.Gained()
	switch {
	case len(t.Before) == 0:
		t.Kind = Claimed
	case len(lost) == 0:
		t.Kind = Shared
	default:
		t.Kind, t.Why = c.loss(h, lost, gained)
	}
	t.Forced = t.Kind == Taken && slices.ContainsFunc(t.After, applies)
	return t
}

func (c classifier) loss(h Handover, lost, gained []managedfields.Owner) (Kind, Why) {
	moved, within, written := c.moved(h, lost)
	switch {
	case c.reset:
		return Unclear, Reset
	case c.crossesVersions(h, lost, gained):
		return c.across(h, lost, gained)
	case len(explained(lost, gained)) == 0:
		return Unclear, Bookkeeping
	case len(h.After) == 0:
		return c.abandoned(h), ""
	case within:
		return Unclear, Migration
	case len(gained) > 0 && !slices.ContainsFunc(gained, isReal):
		return Released, ""
	}
	was, is := c.values.values(h.Path)
	isNew := c.values != nil && !was && is
	switch changed := c.changed(h); {
	case moved && isNew:
		return Unclear, Migration // There was no value to take.
	case !h.Inner && isNew && !slices.ContainsFunc(gained, applies):
		return Lost, "" // A default that is not stored: the owner had no value.
	case changed == yes:
		return Taken, ""
	case moved && (!written || changed != unknown): // A new value and a default look the same.
		return Unclear, Migration
	case changed == unknown && !c.apart && slices.ContainsFunc(gained, updatesSubresource):
		return Taken, ""
	case changed == unknown:
		return Lost, ""
	case len(gained) > 0:
		return Unclear, SameValue
	case stays(h, lost):
		return Unclear, Migration
	case !slices.ContainsFunc(lost, applies):
		return Unclear, SameValue // Updates do not release paths, so the entries were edited.
	case c.values != nil && !was && !is:
		// An owned path, such as an empty map of annotations, may be missing from the stored
		// object. If another manager applies a value there, the path was taken even though it looks
		// released.
		return Lost, ""
	}
	return Released, ""
}

// stays reports whether every manager that lost a path still owns it in another way. For example, a
// manager's updates may have become part of its applied fields.
func stays(h Handover, lost []managedfields.Owner) bool {
	return !slices.ContainsFunc(lost, func(l managedfields.Owner) bool {
		return !slices.ContainsFunc(h.After, func(o managedfields.Owner) bool { return o.Manager == l.Manager })
	})
}

// updatesSubresource reports whether an owner updates through a subresource such as scale. The API
// server credits such an update with exactly the fields that it changed. No tool moves entries to a
// subresource.
func updatesSubresource(o managedfields.Owner) bool {
	return o.Operation == managedfields.Update && o.Subresource != ""
}

// across classifies a path that its old and new owners own at different API versions. A path may
// mean something else in another version. So the path was taken only if both objects have it, with
// different values. An owner that moves to another version takes nothing from itself (edge case 7).
// A path that disappeared without a new owner may have been dropped with its version (edge case 9).
func (c classifier) across(h Handover, lost, gained []managedfields.Owner) (Kind, Why) {
	others := slices.ContainsFunc(explained(lost, gained), func(l managedfields.Owner) bool {
		return !slices.ContainsFunc(gained, func(g managedfields.Owner) bool { return isSameAtOther(l, g) })
	})
	was, is := c.values.values(h.Path)
	if others && was && is && slices.ContainsFunc(gained, isReal) && c.changed(h) == yes {
		return Taken, ""
	}
	return Unclear, CrossVersion
}

func isSameAtOther(o, other managedfields.Owner) bool {
	o.APIVersion = other.APIVersion
	return o.Equal(other)
}

// crossesVersions reports whether the previous and current owners of a path have different versions
// (edge case 7). It also returns true if the path was lost at a version other than the object's,
// because the path may have been dropped with that version (edge case 9).
func (c classifier) crossesVersions(h Handover, lost, gained []managedfields.Owner) bool {
	version, now := lost[0].APIVersion, h.After
	if c.values != nil {
		version, now = c.values.version, gained
	}
	other := func(o managedfields.Owner) bool { return o.APIVersion != version }
	return slices.ContainsFunc(lost, other) || slices.ContainsFunc(now, other)
}

// explained returns the owners that lost the path, except those that lost it through the API
// server's bookkeeping (edge case 9).
func explained(lost, gained []managedfields.Owner) []managedfields.Owner {
	folded := slices.ContainsFunc(gained, func(o managedfields.Owner) bool { return o.Manager == ancientChanges })
	return slices.DeleteFunc(slices.Clone(lost), func(o managedfields.Owner) bool {
		return !isReal(o) || folded && o.Operation == managedfields.Update
	})
}

// The object may still have a path that has no owner, such as a default that the server set.
func (c classifier) abandoned(h Handover) Kind {
	if _, is := c.values.values(h.Path); is {
		return Released
	}
	return Removed
}

type answer int

const (
	unknown answer = iota
	no
	yes
)

func (c classifier) changed(h Handover) answer {
	switch {
	case c.values == nil && h.There:
		return no // Only its presence could change.
	case c.values == nil:
		return unknown
	case c.values.old.Same(h.Path, c.values.new), h.Inner && c.values.sameSort(h.Path):
		return no
	}
	return yes
}

// values reports whether a path exists in the old object (was) and in the new one (is). Both results
// are false if the values are unknown.
func (v *values) values(p fieldpath.Path) (was, is bool) {
	if v != nil {
		_, was = v.old.Get(p)
		_, is = v.new.Get(p)
	}
	return was, is
}

func (v *values) sameSort(p fieldpath.Path) bool {
	was, _ := v.old.Get(p)
	is, _ := v.new.Get(p)
	_, wasMap := was.(map[string]any)
	_, isMap := is.(map[string]any)
	_, wasList := was.([]any)
	_, isList := is.([]any)
	return wasMap && isMap || wasList && isList
}

func classifierOf(before, after []managedfields.Entry, old, new *unstructured.Unstructured, apart bool) classifier {
	c := classifier{reset: len(after) == 0 && len(before) > 0, apart: apart, moves: movesOf(before, after, apart)}
	if old != nil && new != nil && old.GetAPIVersion() == new.GetAPIVersion() {
		c.values = &values{old: NewLookup(old.Object), new: NewLookup(new.Object), version: new.GetAPIVersion()}
	}
	return c
}

// moved reports whether the entries of all owners that lost the path moved to one of its current
// owners, whether each move stayed within one tool, and whether the path went to the manager whose
// write moved the entries.
func (c classifier) moved(h Handover, lost []managedfields.Owner) (moved, within, written bool) {
	moved, within = true, true
	for _, l := range lost {
		if isKubectl(l) && slices.ContainsFunc(h.After, func(o managedfields.Owner) bool { return o.Manager == kubectlLastApplied }) {
			continue // The annotation goes to its own manager once kubectl applies server-side.
		}
		now, wrote := c.ownerAfter(l, h.After)
		moved = moved && now != nil
		within = moved && within && byOneTool(l, *now)
		written = written || wrote
	}
	return moved, within, written
}

func (c classifier) ownerAfter(from managedfields.Owner, owners []managedfields.Owner) (owner *managedfields.Owner, wrote bool) {
	for _, m := range c.moves {
		if !m.from.Equal(from) {
			continue
		}
		if owner, wrote = m.ownerAfter(owners); owner != nil {
			return owner, wrote
		}
	}
	return nil, false
}

func isKubectl(o managedfields.Owner) bool {
	return o.Subresource == "" && (o.Manager == kubectl && applies(o) || o.Manager == managedfields.ClientSideApply)
}
