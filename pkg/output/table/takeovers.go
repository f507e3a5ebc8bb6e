package table

import (
	"maps"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// takeovers counts the objects with fields that we took over, by former manager.
type takeovers map[string]int

func (t takeovers) add(managers []string) {
	for _, manager := range managers {
		t[manager]++
	}
}

func (t takeovers) lines(asked bool) []string {
	words := " taken over from "
	if asked {
		words = " to take over from "
	}
	var all []string
	for _, manager := range slices.Sorted(maps.Keys(t)) {
		all = append(all, text.Count(t[manager], "object")+words+text.Printable(manager))
	}
	return all
}

type leftOver map[string]int

func (l leftOver) add(left []managedfields.Conflict) {
	for _, c := range left {
		l[c.Owners[0].Manager]++
	}
}

func (l leftOver) lines() []string {
	var all []string
	for _, manager := range slices.Sorted(maps.Keys(l)) {
		them := "it"
		if l[manager] > 1 {
			them = "them"
		}
		all = append(all, text.Count(l[manager], "value")+" left to "+text.Printable(manager)+", which owns "+them+" by design")
	}
	return all
}

// withoutLastApplied leaves out the last-applied annotation, which every takeover from client-side
// apply removes.
func withoutLastApplied(changes []managedfields.Change, adopted []string) []managedfields.Change {
	if len(adopted) == 0 {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c managedfields.Change) bool { return managedfields.IsLastApplied(c.Path) })
}
