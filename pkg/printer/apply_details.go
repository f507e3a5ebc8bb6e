package printer

import (
	"fmt"
	"math"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// manyPaths is how many paths of one sort an object shows; more are only counted.
const manyPaths = 10

// details are the lines below an object that was applied: what the apply did to
// the ownership of its fields.
func (t *applyTable) details(a event.Applied) []string {
	var all []string
	most := manyPaths
	removed := a.Removed
	if t.Verbose || len(a.Adopted) > 0 {
		most = math.MaxInt // A takeover names all that it changes.
	}
	if !t.Verbose {
		removed = withoutLastApplied(removed, a.Adopted)
	}
	all = append(all, paths("removed", removed, most, was)...)
	all = append(all, paths("kept", a.Released, most, func(c managedfields.Change) string {
		return "by " + ownerList(c.Owners, t.Now())
	})...)
	all = append(all, paths("taken", a.Taken, most, func(c managedfields.Change) string {
		return "from " + ownerList(c.Owners, t.Now()) + fromTo(c)
	})...)
	all = append(all, paths("yielded", pathsOf(a.Yielded), most, nil)...)
	if t.Verbose {
		all = append(all, paths("left", changesLeft(a.Left), most, func(c managedfields.Change) string {
			return "to " + ownerList(c.Owners, t.Now())
		})...)
		for _, manager := range a.Adopted {
			all = append(all, "adopted  the fields of "+clean(manager))
		}
	}
	return all
}

// paths lists changes of one sort, one a line, the note of each beside its path.
func paths(verb string, changes []managedfields.Change, most int, note func(managedfields.Change) string) []string {
	shown := changes[:min(most, len(changes))]
	var rows []string
	for _, c := range shown {
		row := pad(verb, len("removed")) + "  " + clean(c.Path.String())
		if c.Atomic {
			row += " (atomic)"
		}
		if note != nil {
			row += "  " + note(c)
		}
		rows = append(rows, strings.TrimRight(row, " "))
	}
	if more := len(changes) - len(shown); more > 0 {
		rows = append(rows, fmt.Sprintf("%s  and %s more", pad(verb, len("removed")), count(more, "path")))
	}
	return rows
}

func was(c managedfields.Change) string {
	if c.From == nil || isLastApplied(c) {
		return ""
	}
	text := "was " + cutMiddle(value(c.From), longest)
	if c.Kind == managedfields.Changed {
		text += ", now " + cutMiddle(value(c.To), longest)
	}
	return text
}

func fromTo(c managedfields.Change) string {
	if c.From == nil && c.To == nil {
		return ""
	}
	from, to := values(c.From, c.To, true)
	from, to = cutPair(from, to, longest/2, longest/2)
	return ": " + from + " → " + to
}

func changesLeft(left []managedfields.Conflict) []managedfields.Change {
	changes := make([]managedfields.Change, len(left))
	for i, c := range left {
		changes[i] = c.Change()
	}
	return changes
}

func pathsOf(paths []managedfields.Path) []managedfields.Change {
	changes := make([]managedfields.Change, len(paths))
	for i, path := range paths {
		changes[i].Path = path
	}
	return changes
}
