package ownership

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// ancientChanges is the manager into which the API server folds the oldest
// updaters of an object that has more than ten.
const ancientChanges = "ancient-changes"

// judge finds out what happened to the owners of paths.
type judge struct {
	// values are those of both objects; nil where they are not known.
	values *values
	reset  bool
	// apart is set where versions between the two are not known.
	apart bool
	moves []move
}

type values struct {
	old, new *Lookup
	// version is that of both objects. Paths of entries of other versions name
	// nothing in them.
	version string
}

func (j judge) all(handovers []Handover) []Transition {
	out := make([]Transition, 0, len(handovers))
	for _, h := range handovers {
		out = append(out, j.judge(h))
	}
	return out
}

func (j judge) judge(h Handover) Transition {
	t := Transition{Path: h.Path, Before: h.Before, After: h.After}
	lost, gained := t.Lost(), t.Gained()
	switch {
	case len(t.Before) == 0:
		t.Kind = Claimed
	case len(lost) == 0:
		t.Kind = Shared
	default:
		t.Kind, t.Why = j.loss(h, lost, gained)
	}
	t.Forced = t.Kind == Taken && slices.ContainsFunc(t.After, applies)
	return t
}

// loss judges a path that somebody does not hold any more.
func (j judge) loss(h Handover, lost, gained []managedfields.Owner) (Kind, Why) {
	moved, byOneTool := j.moved(h, lost)
	switch {
	case j.reset:
		return Unclear, Reset
	case j.crossesVersions(h, lost, gained):
		return j.across(h, lost, gained)
	case len(explained(lost, gained)) == 0:
		return Unclear, Bookkeeping
	case len(h.After) == 0:
		return j.abandoned(h), ""
	case byOneTool:
		return Unclear, Migration
	case len(gained) > 0 && !slices.ContainsFunc(gained, isReal):
		return Released, ""
	}
	switch changed := j.changed(h); {
	case changed == yes:
		return Taken, ""
	case moved:
		return Unclear, Migration
	case changed == unknown && !j.apart && slices.ContainsFunc(gained, updatesSubresource):
		return Taken, ""
	case changed == unknown:
		return Lost, ""
	case len(gained) > 0:
		return Unclear, SameValue
	case stays(h, lost):
		return Unclear, Migration
	case !slices.ContainsFunc(lost, applies):
		return Unclear, SameValue // Who updates lets go of nothing: the entries were edited.
	}
	return Released, ""
}

// stays reports whether all who lost a path hold it by other means: a manager whose
// updates became a part of what it applies has let go of nothing.
func stays(h Handover, lost []managedfields.Owner) bool {
	return !slices.ContainsFunc(lost, func(l managedfields.Owner) bool {
		return !slices.ContainsFunc(h.After, func(o managedfields.Owner) bool { return o.Manager == l.Manager })
	})
}

// updatesSubresource reports whether an owner wrote through a subresource, such as
// scale. The API server gives it what it changed and nothing else, and nobody moves
// entries there by hand.
func updatesSubresource(o managedfields.Owner) bool {
	return o.Operation == managedfields.Update && o.Subresource != ""
}

// across judges a path that one owner held at another version than the next one
// does. The names of two versions need not mean the same, so the path is taken only
// where it is in both objects with another value. An owner that goes to another
// version takes nothing from itself (edge case 7), and what vanished without anybody
// gaining it may have been dropped with its version (edge case 9).
func (j judge) across(h Handover, lost, gained []managedfields.Owner) (Kind, Why) {
	others := slices.ContainsFunc(explained(lost, gained), func(l managedfields.Owner) bool {
		return !slices.ContainsFunc(gained, func(g managedfields.Owner) bool { return isSameAtOther(l, g) })
	})
	if others && j.values != nil && slices.ContainsFunc(gained, isReal) && j.values.both(h.Path) && j.changed(h) == yes {
		return Taken, ""
	}
	return Unclear, CrossVersion
}

// isSameAtOther reports whether two owners are one that writes at another version.
func isSameAtOther(o, other managedfields.Owner) bool {
	o.APIVersion = other.APIVersion
	return o.Equal(other)
}

// crossesVersions reports whether who lost a path and who has it now do not speak of
// it at one version (edge case 7). What was lost at another version than the object's
// may have been dropped with that version (edge case 9).
func (j judge) crossesVersions(h Handover, lost, gained []managedfields.Owner) bool {
	version, now := lost[0].APIVersion, h.After
	if j.values != nil {
		version, now = j.values.version, gained
	}
	other := func(o managedfields.Owner) bool { return o.APIVersion != version }
	return slices.ContainsFunc(lost, other) || slices.ContainsFunc(now, other)
}

// explained returns the owners whose loss is not the API server's own doing: what
// its managers lose was nobody's in particular, and what they gain comes from
// updaters (edge case 9).
func explained(lost, gained []managedfields.Owner) []managedfields.Owner {
	folded := slices.ContainsFunc(gained, func(o managedfields.Owner) bool { return o.Manager == ancientChanges })
	return slices.DeleteFunc(slices.Clone(lost), func(o managedfields.Owner) bool {
		return !isReal(o) || folded && o.Operation == managedfields.Update
	})
}

// abandoned judges a path that nobody holds any more. Without values it counts as
// removed, as it is but for what the server sets to a default at once.
func (j judge) abandoned(h Handover) Kind {
	if j.values != nil {
		if _, there := j.values.new.Get(h.Path); there {
			return Released
		}
	}
	return Removed
}

// answer is one to a question that has not always one.
type answer int

const (
	unknown answer = iota
	no
	yes
)

// changed reports whether the value at a path is another one.
func (j judge) changed(h Handover) answer {
	switch {
	case j.values == nil && h.Inner:
		return no // There is nothing to it but that it is there.
	case j.values == nil:
		return unknown
	case j.values.old.Same(h.Path, j.values.new), h.Inner && j.values.sameSort(h.Path):
		return no
	}
	return yes
}

// both reports whether a path is in both objects.
func (v *values) both(p fieldpath.Path) bool {
	_, was := v.old.Get(p)
	_, is := v.new.Get(p)
	return was && is
}

// sameSort reports whether a path is a map in both objects, or a list in both. What
// is in them is held path by path.
func (v *values) sameSort(p fieldpath.Path) bool {
	was, _ := v.old.Get(p)
	is, _ := v.new.Get(p)
	_, wasMap := was.(map[string]any)
	_, isMap := is.(map[string]any)
	_, wasList := was.([]any)
	_, isList := is.([]any)
	return wasMap && isMap || wasList && isList
}

func applies(o managedfields.Owner) bool { return o.Operation == managedfields.Apply }

// isReal reports whether a manager is somebody, not the API server's bookkeeping.
func isReal(o managedfields.Owner) bool {
	return o.Manager != ancientChanges && o.Manager != managedfields.BeforeFirstApply
}

func has(owners []managedfields.Owner, owner managedfields.Owner) bool {
	return slices.ContainsFunc(owners, owner.Equal)
}
