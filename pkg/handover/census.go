package handover

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// census is who owns anything of the objects of a run, so that a giver who owns nothing of any of
// them is not taken for one who has given everything away already.
type census struct {
	from   []string
	owners map[string]bool
	// silent: nothing can be said of givers, because an object could not be read, a result has
	// said it, or a path is where it is meant to be.
	silent bool
}

// add counts an object. byPath: the wish names the paths that are to be given.
func (c *census) add(out event.Given, entries []managedfields.Entry, byPath bool) {
	for _, e := range entries {
		c.owners[e.Manager] = true
	}
	done := byPath && out.Action == event.Unchanged && out.Reason == ""
	c.silent = c.silent || out.Action == event.Unknown || done || give.Missing(out.Err)
}

// strangers are the givers who own nothing.
func (c *census) strangers() []string {
	if c.silent {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.from), func(name string) bool { return c.owners[name] })
}

// text says who owns nothing, and who was perhaps meant.
func (c *census) text(strangers []string, objects int) string {
	owners := slices.Sorted(maps.Keys(c.owners))
	said := fmt.Sprintf("--from: %s owns nothing of the %s", strings.Join(strangers, " or "), text.Count(objects, "object"))
	for _, name := range strangers {
		if meant := text.Nearest(name, owners); meant != "" {
			said = fmt.Sprintf("%s (did you mean %s?)", said, meant)
			break
		}
	}
	if len(owners) == 0 {
		return said + "; no manager owns any of it"
	}
	return said + "; managers that own something: " + strings.Join(owners, ", ")
}
