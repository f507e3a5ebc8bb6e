package give

import (
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// contest collects the managers with which the receiver's next apply still conflicts.
type contest struct {
	managers []string
	// marks means that some of them are over the marks of another Helm release.
	marks bool
}

func (c *contest) add(conflicts []managedfields.Conflict) {
	for _, conflict := range conflicts {
		c.marks = c.marks || applyset.IsReleaseMark(conflict.Path)
		for _, owner := range conflict.Owners {
			if !slices.Contains(c.managers, owner.Manager) {
				c.managers = append(c.managers, owner.Manager)
			}
		}
	}
	slices.Sort(c.managers)
}

func (c *contest) text(w transfer.Wish, objects int) string {
	message := fmt.Sprintf("%s's next apply still conflicts in %s, with %s", w.To, text.Count(objects, "object"), strings.Join(c.managers, ", "))
	others := slices.DeleteFunc(slices.Clone(c.managers), func(name string) bool { return slices.Contains(w.From, name) })
	switch {
	case c.marks: // To give these fields, too, would undo the move to that release.
		return message + ": an object carries the marks of another Helm release; move it with --from-release and --to-release, or remove it from the chart"
	case w.Mode == transfer.Share:
		return message + ": with --share, the owners keep fields that they set to other values"
	case len(w.Paths) > 0:
		return message + ": give these fields, too, or remove them from the manifest"
	case len(others) > 0:
		return message + ": to settle it, repeat the command with --from=" + strings.Join(others, ",")
	}
	return message
}
