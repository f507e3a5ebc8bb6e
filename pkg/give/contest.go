package give

import (
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// contest collects the managers with which the receiver's next apply still conflicts.
type contest struct {
	managers []string
}

func (c *contest) add(conflicts []managedfields.Conflict) {
	for _, conflict := range conflicts {
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
	case w.Mode == transfer.Share:
		return message + ": with --share, the owners keep fields that they set to other values"
	case len(w.Paths) > 0:
		return message + ": give these fields, too, or remove them from the manifest"
	case len(others) > 0:
		return message + ": to settle it, repeat the command with --from=" + strings.Join(others, ",")
	}
	return message
}
