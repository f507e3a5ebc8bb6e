package ownership

import (
	"slices"

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
}

type values struct {
	old, new *managedfields.Lookup
	// version is that of both objects. Paths of entries of other versions name
	// nothing in them.
	version string
}

func (j judge) all(handovers []managedfields.Handover) []Transition {
	out := make([]Transition, 0, len(handovers))
	for _, h := range handovers {
		out = append(out, j.judge(h))
	}
	return out
}

func (j judge) judge(h managedfields.Handover) Transition {
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
func (j judge) loss(h managedfields.Handover, lost, gained []managedfields.Owner) (Kind, Why) {
	switch {
	case j.reset:
		return Unclear, Reset
	case j.crossesVersions(lost, gained):
		return Unclear, CrossVersion
	case len(explained(lost, gained)) == 0:
		return Unclear, Bookkeeping
	case len(h.After) == 0:
		return j.abandoned(h), ""
	case len(gained) > 0 && !slices.ContainsFunc(gained, isReal):
		return Released, ""
	}
	switch j.changed(h) {
	case yes:
		return Taken, ""
	case no:
		if len(gained) > 0 {
			return Unclear, SameValue
		}
		return Released, ""
	case unknown:
	}
	if len(gained) > 0 {
		return Taken, ""
	}
	return Released, ""
}

// crossesVersions tells whether who lost and who gained a path do not speak of it
// at one version (edge case 7). What was lost at another version than the
// object's may have been dropped with that version (edge case 9).
func (j judge) crossesVersions(lost, gained []managedfields.Owner) bool {
	version := lost[0].APIVersion
	if j.values != nil {
		version = j.values.version
	}
	other := func(o managedfields.Owner) bool { return o.APIVersion != version }
	return slices.ContainsFunc(lost, other) || slices.ContainsFunc(gained, other)
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
func (j judge) abandoned(h managedfields.Handover) Kind {
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

// changed tells whether the value at a path is another one.
func (j judge) changed(h managedfields.Handover) answer {
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

// sameSort tells whether a path is a map in both objects, or a list in both. What
// is in them is held path by path.
func (v *values) sameSort(p managedfields.Path) bool {
	was, _ := v.old.Get(p)
	is, _ := v.new.Get(p)
	_, wasMap := was.(map[string]any)
	_, isMap := is.(map[string]any)
	_, wasList := was.([]any)
	_, isList := is.([]any)
	return wasMap && isMap || wasList && isList
}

func applies(o managedfields.Owner) bool { return o.Operation == managedfields.Apply }

// isReal tells whether a manager is somebody, not the API server's bookkeeping.
func isReal(o managedfields.Owner) bool {
	return o.Manager != ancientChanges && o.Manager != managedfields.BeforeFirstApply
}

func has(owners []managedfields.Owner, owner managedfields.Owner) bool {
	return slices.ContainsFunc(owners, owner.Equal)
}
