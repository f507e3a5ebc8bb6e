package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// mostLogged is the number of results in a log that are listed one by one.
const mostLogged = 50

// doneLines prints finished objects: one line for each or, if there are more than fit on a screen, one
// line for each action and kind. An object with notes always has its own line, below the others.
type doneLines struct {
	output.Base
	lines output.PlanOrdered[doneLine]
	// listed is the number of objects and groups that were printed so far.
	listed int
}

// doneLine is a finished object as text, which takes less memory than thousands of events.
type doneLine struct {
	action event.Action
	at     output.Place
	text   string
	noted  bool
}

func (p *doneLines) add(action event.Action, ref object.Ref, line string, noted bool) {
	at := p.State.Place(ref)
	p.lines.Add(at, doneLine{action, at, line, noted})
}

// write prints the objects since the last call.
func (p *doneLines) write(b *strings.Builder, width int) {
	all := p.lines.Drain()
	capacity := p.capacity()
	// A long phase leaves too few lines for the phases after it.
	isLong := p.State.Total > capacity && len(all) > capacity/2
	if p.Verbose || p.listed+len(all) <= capacity && !isLong {
		p.listed += len(all)
		for _, line := range all {
			b.WriteString(line.text)
		}
		return
	}
	isNoted := func(line doneLine) bool { return line.noted }
	plain := slices.DeleteFunc(slices.Clone(all), isNoted)
	groups := format.Grouped(plain, func(line doneLine) string {
		return string(line.action) + " " + p.State.Ref(line.at).GVK.GroupKind().String()
	})
	for _, group := range groups {
		p.listed++
		if len(group) == 1 {
			b.WriteString(group[0].text)
			continue
		}
		word := format.Pad(string(group[0].action), width)
		line := format.Fit(word+"  ", p.folded(group), p.Width)
		b.WriteString(p.Paint.Action(group[0].action, word) + strings.TrimPrefix(line, word) + "\n")
	}
	for _, line := range all {
		if line.noted {
			b.WriteString(line.text)
		}
	}
}

// capacity returns how many results fit on the screen, or in a log that people still read.
func (p *doneLines) capacity() int {
	const aroundThem = 3 // the summary, and the prompt
	if p.Width == nil || p.Height == nil || p.Height() <= 0 {
		return mostLogged
	}
	return max(oneScreen, p.Height()-aroundThem)
}

// folded counts the objects of one kind, and names some of their namespaces.
func (p *doneLines) folded(group []doneLine) string {
	const named = 3
	var refs []object.Ref
	var namespaces []string
	for _, line := range group {
		ref := p.State.Ref(line.at)
		refs = append(refs, ref)
		if ns := ref.Namespace; ns != "" && !slices.Contains(namespaces, ns) {
			namespaces = append(namespaces, ns)
		}
	}
	slices.SortFunc(namespaces, text.CompareNames)
	count := format.KindCounts(refs)
	if p.DryRun {
		count += " (dry run)"
	}
	switch len(namespaces) {
	case 0:
		return count
	case 1:
		return count + " -n " + text.Printable(namespaces[0])
	}
	return fmt.Sprintf("%s in %d namespaces: %s", count, len(namespaces), text.Printable(text.List(namespaces, named)))
}
