package table

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type givenTable struct {
	output.Base
	given output.PlanOrdered[event.Given]
}

// NewGiven returns the table of a give.
func NewGiven(b output.Base) output.Results { return &givenTable{Base: b} }

func (t *givenTable) Handle(e event.Event) {
	if given, ok := e.(event.Given); ok {
		t.given.Add(t.State.Place(given.Ref), given)
	}
}

// Finish prints unchanged objects only with -v, or if there is something to say about them.
func (t *givenTable) Finish(context.Context) error {
	var b strings.Builder
	counts := map[event.Action]int{}
	owners, dryRun := 0, false
	for _, g := range t.given.Drain() {
		counts[g.Action]++
		dryRun = dryRun || g.DryRun
		for _, m := range g.Moves {
			owners += len(m.Paths)
		}
		if g.Action == event.Unchanged && !t.Verbose && len(t.details(g)) == 0 {
			continue
		}
		word := format.Pad(string(g.Action), len(event.Unchanged))
		fmt.Fprintf(&b, "%s  %s\n", t.Paint.Action(g.Action, word), format.Name(g.Ref))
		format.Below(&b, t.details(g), "    ", t.Width)
	}
	if parts := counted(output.GiveActions(), counts, nil); len(parts) > 0 {
		b.WriteString(strings.Join(parts, ", "))
		if owners > 0 {
			fmt.Fprintf(&b, "; %s changed owners", text.Count(owners, "field"))
		}
		if dryRun {
			b.WriteString(" (dry run)")
		}
		b.WriteString("\n")
	}
	t.Screen.Result(b.String())
	return nil
}

func (t *givenTable) details(g event.Given) []string {
	var lines []string
	for _, m := range g.Moves {
		from := format.Owner(m.From, t.Now())
		switch {
		case m.To == (managedfields.Owner{}):
			lines = append(lines, t.pathLines("released", m.Paths, "by "+from)...)
		case m.Shared:
			lines = append(lines, t.pathLines("shared", m.Paths, "with "+format.Owner(m.To, t.Now())+" by "+from)...)
		default:
			lines = append(lines, t.pathLines("moved", m.Paths, "from "+from+" to "+format.Owner(m.To, t.Now()))...)
		}
	}
	for _, l := range g.Left {
		lines = append(lines, t.pathLines("left", l.Paths, "to "+format.Owner(l.Owner, t.Now())+": "+l.Why)...)
	}
	if g.Next != nil {
		lines = append(lines, t.nextApplyLines(*g.Next)...)
	}
	lines = append(lines, format.Lines(g.Reason)...)
	if g.Err != nil {
		lines = append(lines, format.ErrorLines(g.Err, 0)...)
	}
	return lines
}

func (t *givenTable) nextApplyLines(n event.NextApply) []string {
	who := text.Printable(n.Manager) + "'s next apply"
	if n.Manifest != "" {
		who += " of " + text.Printable(n.Manifest)
	}
	conflicts := fmt.Sprintf("%s before, %s after", text.Count(len(n.Before), "conflict"), orNone(len(n.After)))
	if len(n.Before) == 0 {
		conflicts = "no conflict, before or after"
	}
	var lines []string
	switch {
	case n.Err != nil && len(n.Before) == 0:
		return append([]string{who + " cannot be predicted:"}, format.ErrorLines(n.Err, 0)...)
	case n.Err != nil:
		lines = append([]string{who + ": " + conflicts + "; beyond the conflicts, it cannot be predicted:"}, format.ErrorLines(n.Err, 0)...)
	case n.Refused != nil:
		lines = append([]string{who + " will be refused: " + conflicts + ", but the server refuses the object:"}, format.ErrorLines(n.Refused, 0)...)
	default:
		lines = []string{who + ": " + conflicts}
	}
	if n.Guarded > 0 {
		lines = append(lines, fmt.Sprintf("  its fields that others own: %d before, %s after", n.Guarded, orNone(n.StillGuarded)))
	}
	for _, c := range n.After {
		lines = append(lines, "  conflict  "+text.Printable(c.Path.String())+"  owned by "+format.OwnerList(c.Owners, t.Now()))
	}
	for _, c := range n.Overwrites {
		lines = append(lines, "  changes   "+text.Printable(c.Path.String())+"  "+strings.Join(fromTo(c, 0), " "))
	}
	for _, p := range n.Removes {
		lines = append(lines, "  removes   "+text.Printable(p.String())+", which its manifest lacks")
	}
	return lines
}

func (t *givenTable) pathLines(verb string, all []fieldpath.Path, note string) []string {
	most := manyPaths
	if t.Verbose {
		most = math.MaxInt
	}
	return paths(verb, pathsOf(all), most, 0, func(managedfields.Change, int) []string { return []string{note} })
}

func orNone(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}
