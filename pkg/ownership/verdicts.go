package ownership

import "slices"

// Verdicts are the classifications of the transitions of one write: the kind of each, why, and
// whether it was forced. They take one byte each, so that many can be kept until their write is
// seen to be committed.
type Verdicts struct{ codes string }

// verdict is one classification; its code is its position among all of them.
type verdict struct {
	kind   Kind
	why    Why
	forced bool
}

// verdicts returns all possible ones.
func verdicts() []verdict {
	return []verdict{
		{kind: Claimed},
		{kind: Shared},
		{kind: Taken},
		{kind: Taken, forced: true},
		{kind: Lost},
		{kind: Released},
		{kind: Removed},
		{kind: Unclear, why: CrossVersion},
		{kind: Unclear, why: Bookkeeping},
		{kind: Unclear, why: Reset},
		{kind: Unclear, why: Migration},
		{kind: Unclear, why: SameValue},
		{kind: Given},
	}
}

// VerdictsOn returns the verdicts on the transitions between two versions, as [BetweenObjects]
// returns them.
func VerdictsOn(transitions []Transition) Verdicts {
	all := verdicts()
	codes := make([]byte, len(transitions))
	for i, t := range transitions {
		codes[i] = byte(slices.Index(all, verdict{t.Kind, t.Why, t.Forced}))
	}
	return Verdicts{string(codes)}
}

// Size returns their number of bytes.
func (v Verdicts) Size() int { return len(v.codes) }

// On sets the verdicts on transitions between the same two versions that were found without values.
// It reports whether there is one for each; otherwise it changes nothing.
func (v Verdicts) On(transitions []Transition) bool {
	all := verdicts()
	if len(v.codes) != len(transitions) || slices.ContainsFunc([]byte(v.codes), func(c byte) bool { return int(c) >= len(all) }) {
		return false
	}
	for i := range transitions {
		t, is := &transitions[i], all[v.codes[i]]
		t.Kind, t.Why, t.Forced = is.kind, is.why, is.forced
	}
	return true
}
