package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
)

// Dialogue is what was asked and answered in one run. It is not safe for concurrent use.
type Dialogue struct {
	// Say writes lines, Read prompts for one; no more says that there will be none. Both are
	// needed.
	Say  func(lines ...string)
	Read func(prompt string) (line string, more bool)
	// Now is the time by which ages are told, Width how long a line may be; 0 for any length.
	Now   func() time.Time
	Width func() int

	// standing is what was said of all that a manager owns.
	standing map[string]apply.Decision
	answers  []answer
	// quit: nothing more is asked.
	quit bool
}

// answer is what was decided of one path. A later one about the same path replaces it.
type answer struct {
	ref      object.Ref
	path     string
	decision apply.Decision
}

// Decide asks about the conflicts, as apply.Engine's Decide. Once the user has quit, it asks
// nothing more and leaves the rest undecided.
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
			q := question{ref: c.Ref, conflict: conflict, number: total - left + 1, of: total}
			q.refused = phrase.WouldBeRefused(c.Refusal, conflict.Path)
			left--
			out[i][j] = d.decide(q)
		}
	}
	return out
}

// question is one conflict to ask about.
type question struct {
	ref        object.Ref
	conflict   managedfields.Conflict
	number, of int
	// refused: the server would not let it be taken.
	refused bool
}

func (d *Dialogue) decide(q question) apply.Decision {
	if d.quit {
		return apply.Undecided
	}
	manager := soleManager(q.conflict.Owners)
	decision := d.standing[manager]
	if q.refused && decision == apply.Take {
		decision = apply.Undecided
	}
	if decision == apply.Undecided {
		decision = d.ask(q, manager)
	}
	if decision != apply.Undecided {
		d.note(q, decision)
	}
	return decision
}

// ask asks until there is an answer that decides, or the user quits.
func (d *Dialogue) ask(q question, manager string) apply.Decision {
	d.Say(d.shortly(q)...)
	for {
		line, more := d.Read(prompt(q, manager))
		switch line = strings.Join(strings.Fields(line), " "); {
		case isOneOf(line, "t", "take") && !q.refused:
			return apply.Take
		case isOneOf(line, "l", "leave"):
			return apply.Leave
		case isOneOf(line, "ta", "take all") && manager != "" && !q.refused:
			return d.always(manager, apply.Take)
		case isOneOf(line, "la", "leave all") && manager != "":
			return d.always(manager, apply.Leave)
		case isOneOf(line, "q", "quit"), !more:
			d.quit = true
			return apply.Undecided
		case isOneOf(line, "s", "show"):
			d.Say(d.wholly(q)...)
		default:
			d.Say(help(q, manager)...)
		}
	}
}

func isOneOf(line string, words ...string) bool {
	return slices.Contains(words, line)
}

// always remembers a decision for all that a manager alone owns.
func (d *Dialogue) always(manager string, decision apply.Decision) apply.Decision {
	if d.standing == nil {
		d.standing = map[string]apply.Decision{}
	}
	d.standing[manager] = decision
	return decision
}

// note remembers an answer for the flags.
func (d *Dialogue) note(q question, decision apply.Decision) {
	now := answer{q.ref, q.conflict.Path.String(), decision}
	for i, earlier := range d.answers {
		if earlier.ref == now.ref && earlier.path == now.path {
			d.answers[i] = now
			return
		}
	}
	d.answers = append(d.answers, now)
}

// wasAnswered reports whether the user has answered a question about the path before.
func (d *Dialogue) wasAnswered(q question) bool {
	for _, earlier := range d.answers {
		if earlier.ref == q.ref && earlier.path == q.conflict.Path.String() {
			return true
		}
	}
	return false
}

// soleManager returns the manager of all the owners; empty if there are several, or none.
func soleManager(owners []managedfields.Owner) string {
	sole := ""
	for _, o := range owners {
		if sole != "" && o.Manager != sole {
			return ""
		}
		sole = o.Manager
	}
	return sole
}

// Flags returns the flags that decide the same without a question; named says how a flag names
// an object.
func (d *Dialogue) Flags(named func(object.Ref) string) []string {
	var flags []string
	for _, way := range []struct {
		flag     string
		decision apply.Decision
	}{{"--take", apply.Take}, {"--yield", apply.Leave}} {
		paths := map[object.Ref][]string{}
		var refs []object.Ref
		for _, a := range d.answers {
			if a.decision != way.decision {
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
