package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// changeCounts counts the paths of an object, or of all objects, by what happens to them.
type changeCounts map[managedfields.ChangeKind]int

func (c changeCounts) add(changes []managedfields.Change) {
	for _, change := range changes {
		c[change.Kind]++
	}
}

func (c changeCounts) String() string {
	var parts []string
	for _, kind := range []managedfields.ChangeKind{
		managedfields.Changed, managedfields.Added, managedfields.Removed, managedfields.TakenOver, managedfields.Released, managedfields.Surplus, managedfields.Contested,
	} {
		if c[kind] > 0 {
			parts = append(parts, strconv.Itoa(c[kind])+" "+string(kind))
		}
	}
	return strings.Join(parts, ", ")
}

// stat formats an object with the counts of its changes on one line.
func (t *diffTable) stat(c event.Compared) string {
	counts := changeCounts{}
	counts.add(c.Changes)
	t.counts.add(c.Changes)
	t.contested += counts[managedfields.Contested]
	notes := []string{
		t.Paint.Action(c.Action, string(c.Action)), t.Paint.Bold.Sprint(format.Name(c.Ref)),
		counts.String(), sharingOf(c), text.Printable(c.Reason),
	}
	if c.Err != nil && c.Err.Error() != c.Reason {
		notes = append(notes, text.Printable(text.OneLine(c.Err.Error())))
	}
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "  ") + "\n"
}

func sharingOf(c event.Compared) string {
	if c.Sharing == nil {
		return ""
	}
	return text.Printable(c.Sharing.String())
}
