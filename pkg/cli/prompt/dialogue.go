package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// Dialogue holds the questions and answers of one run. It is not safe for concurrent use.
type Dialogue struct {
	// Say prints lines. Read prompts for a line; more is false at the end of the input. Both are
	// required.
	Say  func(lines ...string)
	Read func(prompt string) (line string, more bool)
	// Now returns the time against which ages are computed. Width returns the maximum line length;
	// 0 means unlimited.
	Now   func() time.Time
	Width func() int
	// Phases is the number of phases in the run.
	Phases int
	// Places returns where a rule for an object can be kept. Without it, no rules are kept.
	Places func(object.Ref) Places
	// standing holds the answers that apply to all fields of a manager.
	standing map[string]apply.Decision
	answers  []answer
	quit     bool
}

// A later answer about the same path replaces an earlier one.
type answer struct {
	ref      object.Ref
	path     string
	decision apply.Decision
	keep     keep
	// kept means that the rule has been written.
	kept bool
}

// Decide asks about the conflicts. Once the user has quit, it leaves all remaining conflicts
// undecided.
func (d *Dialogue) Decide(all []apply.Contested) [][]apply.Decision {
	out := make([][]apply.Decision, len(all))
	left := 0
	for i, c := range all {
		out[i] = make([]apply.Decision, len(c.Conflicts))
		left += len(c.Conflicts)
	}
	total := left
	for i, c := range all {
		for j, conflict := range c.Conflicts {
			q := question{ref: c.Ref, conflict: conflict, number: total - left + 1, of: total, inPhase: d.Phases > 1}
			q.refused = format.WouldBeRefused(c.Refusal, conflict.Path)
			q.unleavable = slices.ContainsFunc(c.Unleavable, conflict.Path.Equal)
			left--
			out[i][j] = d.decide(q)
		}
	}
	return out
}

type question struct {
	ref        object.Ref
	conflict   managedfields.Conflict
	number, of int
	// inPhase means that the number of questions covers only this phase.
	inPhase  bool
	managers []string
	// refused means that the server would refuse our value. unleavable means that no --yield can
	// name the path.
	refused, unleavable bool
	places              Places
}

// offers reports whether a decision would settle the conflict.
func (q question) offers(decision apply.Decision) bool {
	switch decision {
	case apply.Take:
		return !q.refused
	case apply.Leave:
		return !q.unleavable
	default:
		return true
	}
}

func (d *Dialogue) decide(q question) apply.Decision {
	if d.quit {
		return apply.Undecided
	}
	q.managers = managersOf(q.conflict.Owners)
	if d.Places != nil && !q.unleavable {
		q.places = d.Places(q.ref)
	}
	decision, keep := d.stands(q.managers), nowhere
	if !q.offers(decision) {
		decision = apply.Undecided
	}
	if decision == apply.Undecided {
		decision, keep = d.ask(q)
	}
	if decision != apply.Undecided {
		d.remember(q, decision, keep)
	}
	return decision
}

// ask repeats the prompt until it gets an answer that would settle the conflict. The end of the input counts
// as quit, so that no field is taken without an answer.
func (d *Dialogue) ask(q question) (apply.Decision, keep) {
	d.Say(d.shortly(q)...)
	for {
		line, more := d.Read(d.prompt(q))
		switch line = strings.Join(strings.Fields(line), " "); {
		case isOneOf(line, "t", "take") && q.offers(apply.Take):
			return apply.Take, nowhere
		case isOneOf(line, "l", "leave") && q.offers(apply.Leave):
			return apply.Leave, nowhere
		case isOneOf(line, "al", "always") && q.places.usual() != nowhere:
			return apply.Leave, q.places.usual()
		case isOneOf(line, "am", "always manifest") && q.places.Manifest != "":
			return apply.Leave, inManifest
		case isOneOf(line, "ta", "take all") && len(q.managers) > 0 && q.offers(apply.Take):
			return d.forAll(q.managers, apply.Take), nowhere
		case isOneOf(line, "la", "leave all") && len(q.managers) > 0 && q.offers(apply.Leave):
			return d.forAll(q.managers, apply.Leave), nowhere
		case isOneOf(line, "q", "quit"), !more:
			d.quit = true
			return apply.Undecided, nowhere
		case isOneOf(line, "s", "show"):
			d.Say(d.wholly(q)...)
		default:
			d.Say(d.help(q)...)
		}
	}
}

func isOneOf(line string, words ...string) bool {
	return slices.Contains(words, line)
}

func (d *Dialogue) forAll(managers []string, decision apply.Decision) apply.Decision {
	if d.standing == nil {
		d.standing = map[string]apply.Decision{}
	}
	for _, m := range managers {
		d.standing[m] = decision
	}
	return decision
}

// stands returns the standing decision that all the managers share; Undecided if their decisions
// differ.
func (d *Dialogue) stands(managers []string) apply.Decision {
	for _, m := range managers {
		if d.standing[m] != d.standing[managers[0]] {
			return apply.Undecided
		}
	}
	if len(managers) == 0 {
		return apply.Undecided
	}
	return d.standing[managers[0]]
}

func (d *Dialogue) remember(q question, decision apply.Decision, keep keep) {
	now := answer{ref: q.ref, path: q.conflict.Path.String(), decision: decision, keep: keep}
	for i, earlier := range d.answers {
		if earlier.ref == now.ref && earlier.path == now.path {
			d.answers[i] = now
			return
		}
	}
	d.answers = append(d.answers, now)
}

func (d *Dialogue) wasAnswered(q question) bool {
	for _, earlier := range d.answers {
		if earlier.ref == q.ref && earlier.path == q.conflict.Path.String() {
			return true
		}
	}
	return false
}

func managersOf(owners []managedfields.Owner) []string {
	var managers []string
	for _, o := range owners {
		if !slices.Contains(managers, o.Manager) {
			managers = append(managers, o.Manager)
		}
	}
	return managers
}

// Flags returns the flags that make the same decisions without prompting, except those for which a
// rule was written. named returns the name of an object as written in a flag.
func (d *Dialogue) Flags(named func(object.Ref) string) []string {
	var flags []string
	for _, way := range []struct {
		flag     string
		decision apply.Decision
	}{{"--take", apply.Take}, {"--yield", apply.Leave}} {
		paths := map[object.Ref][]string{}
		var refs []object.Ref
		for _, a := range d.answers {
			if a.decision != way.decision || a.kept {
				continue
			}
			if len(paths[a.ref]) == 0 {
				refs = append(refs, a.ref)
			}
			paths[a.ref] = append(paths[a.ref], a.path)
		}
		for _, ref := range refs {
			flags = append(flags, fmt.Sprintf("%s=%s:%s", way.flag, named(ref), strings.Join(paths[ref], ",")))
		}
	}
	return flags
}
