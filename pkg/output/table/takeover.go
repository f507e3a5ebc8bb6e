package table

import (
	"maps"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// takeovers counts objects whose fields became ours, by their former manager. A new owner gets one
// line for the whole run; more important changes, such as a changed value, are reported with the
// object.
type takeovers map[string]int

func (t takeovers) add(managers []string) {
	for _, manager := range managers {
		t[manager]++
	}
}

// lines returns a line for each manager. asked is set if nothing was changed yet.
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

// leftOver counts the values that were left to the manager that should set them, by manager.
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
		all = append(all, text.Count(l[manager], "value")+" left to "+text.Printable(manager)+", which is meant to set "+them)
	}
	return all
}

// withoutLastApplied removes the last-applied annotation from the changes, which every takeover
// from client-side apply removes.
func withoutLastApplied(changes []managedfields.Change, adopted []string) []managedfields.Change {
	if len(adopted) == 0 {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c managedfields.Change) bool { return managedfields.IsLastApplied(c.Path) })
}
