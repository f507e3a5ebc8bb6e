package rule

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Rank determines the order of causes.
type Rank int

const (
	// Root is a cause that no known fact explains further. Such causes come first.
	Root Rank = iota
	// Direct is a fault of a Pod, or of a similar object, that does not depend on other Pods. Those may
	// fail because of it.
	Direct
	// Exits is a container that runs and exits, perhaps because another Pod does not run.
	Exits
	// Answers is a Pod that runs, but is not ready.
	Answers
	// Waits is a Pod whose containers wait for something.
	Waits
	// Replaced is a failed Pod that another Pod has replaced.
	Replaced
	// Consequence is a cause that disappears once the other causes are fixed.
	Consequence
	// Doubt means that an object could not be read.
	Doubt
)

// Finding is a cause that a rule found for one object.
type Finding struct {
	event.Cause
	Rank Rank
	// If Who (the faulty object) and Noun (its kind) are set, the message names no object. [Causes]
	// merges findings with the same code, message and noun.
	Who, Noun string
}

type group struct {
	Finding
	names []string
}

// Causes merges findings with the same cause, and returns root causes first. Causes that the object
// outlives (Passing) follow all others but doubts. more counts the unready Pods that were not
// examined.
func Causes(found []Finding, more int) []event.Cause {
	type cause struct{ code, message, noun string }
	index := map[cause]int{}
	var groups []*group
	for _, f := range found {
		key := cause{f.Code, f.Message, f.Noun}
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key] = i
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
		return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(a.Rank, b.Rank), byNumber(len(a.names), len(b.names)))
	})
	out := make([]event.Cause, 0, len(groups))
	for i, g := range groups {
		if i == 0 && more > 0 {
			g.Evidence = append(slices.Clip(g.Evidence), strconv.Itoa(more)+" more unready Pods were not examined")
		}
		out = append(out, g.cause())
	}
	return out
}

// place is 0 for causes that prevent readiness, 1 for those that pass, and 2 for doubts.
func (g *group) place() int {
	switch {
	case g.Rank == Doubt:
		return 2
	case g.Passing:
		return 1
	}
	return 0
}

func byNumber(a, b int) int {
	if a == 0 || b == 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

func (g *group) cause() event.Cause {
	c := g.Cause
	c.Follows = g.Rank == Consequence
	switch {
	case len(g.names) == 1:
		c.Message = g.names[0] + ": " + c.Message
	case len(g.names) > 1:
		c.Message = text.Count(len(g.names), g.Noun) + ": " + c.Message
		c.Evidence = append(slices.Clip(c.Evidence), g.Noun+"s: "+text.List(g.names, 3))
	}
	return c
}
