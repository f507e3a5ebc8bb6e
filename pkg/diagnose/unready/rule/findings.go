package rule

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Rank orders causes: root causes first.
type Rank int

const (
	// Root is a cause that nothing known explains further.
	Root Rank = iota
	// Direct is a fault of a Pod or a similar object itself.
	Direct
	// Consequence passes with the other causes.
	Consequence
	// Doubt is something that could not be read.
	Doubt
)

// Finding is a cause that a rule found for one object.
type Finding struct {
	event.Cause
	Rank Rank
	// The object with the fault; Noun is the word for several of these. If they are set,
	// the message names no object, and equal findings are reported once.
	Who, Noun string
}

// alike is equal for findings of the same cause.
type alike struct {
	code, message, noun string
}

func (f Finding) alike() alike { return alike{f.Code, f.Message, f.Noun} }

// group is one cause with the affected objects.
type group struct {
	Finding
	names []string
}

// Causes merges findings of the same cause, root causes first.
func Causes(found []Finding, more int) []event.Cause {
	index := map[alike]int{}
	var groups []*group
	for _, f := range found {
		i, known := index[f.alike()]
		if !known {
			i = len(groups)
			index[f.alike()] = i
			groups = append(groups, &group{Finding: f})
		}
		g := groups[i]
		g.Rank = min(g.Rank, f.Rank)
		g.Passing = g.Passing && f.Passing
		g.Hearsay, g.Age = g.Hearsay && f.Hearsay, min(g.Age, f.Age)
		if f.Who != "" && !slices.Contains(g.names, f.Who) {
			g.names = append(g.names, f.Who)
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), byNumber(len(a.names), len(b.names)))
	})
	out := make([]event.Cause, 0, len(groups))
	for i, g := range groups {
		if i == 0 && more > 0 {
			g.Evidence = append(slices.Clip(g.Evidence), "and "+strconv.Itoa(more)+" more Pods that are not ready, not examined")
		}
		out = append(out, g.cause())
	}
	return out
}

// byNumber puts causes without a particular Pod first, then those with the most Pods.
func byNumber(a, b int) int {
	if a == 0 || b == 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// cause returns the cause, with the affected objects in the message.
func (g *group) cause() event.Cause {
	c := g.Cause
	switch {
	case len(g.names) == 1:
		c.Message = g.names[0] + ": " + c.Message
	case len(g.names) > 1:
		c.Message = text.Count(len(g.names), g.Noun) + ": " + c.Message
		c.Evidence = append(slices.Clip(c.Evidence), g.Noun+"s: "+text.List(g.names, 3))
	}
	return c
}
