package unready

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// rank orders causes: what others follow from comes first.
type rank int

const (
	// root: nothing of what was looked at explains it.
	root rank = iota
	// direct: what is the matter with Pods and their like.
	direct
	// consequence: what goes when the others go.
	consequence
	// doubt: what could not be looked at.
	doubt
)

// finding is a cause in the making.
type finding struct {
	event.Cause
	rank rank
	// who has the trouble, and what several of them are called. Message then is about none
	// in particular, and equal findings are reported once.
	who, noun string
}

// alike tells which findings are one cause.
type alike struct {
	code, message, noun string
}

func (f finding) alike() alike { return alike{f.Code, f.Message, f.noun} }

// group is one cause, and whom it concerns.
type group struct {
	finding
	names []string
}

// causes makes one cause of those alike, and puts root causes first.
func causes(found []finding, more int) []event.Cause {
	index := map[alike]int{}
	var groups []*group
	for _, f := range found {
		i, known := index[f.alike()]
		if !known {
			i = len(groups)
			index[f.alike()] = i
			groups = append(groups, &group{finding: f})
		}
		g := groups[i]
		g.rank = min(g.rank, f.rank)
		g.Passing = g.Passing && f.Passing
		g.Hearsay, g.Age = g.Hearsay && f.Hearsay, min(g.Age, f.Age)
		if f.who != "" && !slices.Contains(g.names, f.who) {
			g.names = append(g.names, f.who)
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), byNumber(len(a.names), len(b.names)))
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

// byNumber puts what concerns no single Pod first, then what concerns most.
func byNumber(a, b int) int {
	if a == 0 || b == 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// cause says whom it concerns.
func (g *group) cause() event.Cause {
	c := g.Cause
	switch {
	case len(g.names) == 1:
		c.Message = g.names[0] + ": " + c.Message
	case len(g.names) > 1:
		c.Message = text.Count(len(g.names), g.noun) + ": " + c.Message
		c.Evidence = append(slices.Clip(c.Evidence), g.noun+"s: "+text.List(g.names, 3))
	}
	return c
}
