package give

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// census is who owns anything of the objects of a run. It tells a giver who owns nothing of any of
// them because of a slip from one who has given everything away already.
type census struct {
	wish   transfer.Wish
	owners map[string]bool
	// given: the receiver got something in this run.
	given bool
	// silent: nothing is known of givers, because an object could not be read, a result has
	// reported it, or a path is where it should be.
	silent bool
}

// add counts an object.
func (c *census) add(out event.Given, entries []managedfields.Entry) {
	for _, e := range entries {
		c.owners[e.Manager] = true
	}
	c.given = c.given || out.Action == event.Handed
	done := len(c.wish.Paths) > 0 && out.Action == event.Unchanged && out.Reason == ""
	c.silent = c.silent || out.Action == event.Unknown || done || transfer.Missing(out.Err)
}

// strangers are the givers who own nothing: slips, and those who may have given all away before.
func (c *census) strangers() (slips, done []string) {
	if c.silent {
		return nil, nil
	}
	owners := slices.Sorted(maps.Keys(c.owners))
	for _, name := range c.wish.From {
		switch {
		case c.owners[name]:
		case repeated(c.wish, name, owners, c.given):
			done = append(done, name)
		default:
			slips = append(slips, name)
		}
	}
	return slips, done
}

// text says who owns nothing.
func (c *census) text(strangers []string, objects int) string {
	return fmt.Sprintf("--from: %s owns nothing of the %s", strings.Join(strangers, " or "), text.Count(objects, "object"))
}

// slip says who was perhaps meant.
func (c *census) slip(slips []string, objects int) string {
	owners := slices.Sorted(maps.Keys(c.owners))
	said := c.text(text.AllWithMeant(slips, owners), objects)
	if len(owners) == 0 {
		return said + "; no manager owns any of it"
	}
	return said + "; managers that own something: " + strings.Join(owners, ", ")
}

// repetition says that there is nothing to give, and names the owners, should it be a slip after
// all.
func (c *census) repetition(done []string, objects int) string {
	return c.text(done, objects) + ", so there is nothing to give: all of it was given before, or the name is wrong; " +
		"managers that own something: " + strings.Join(slices.Sorted(maps.Keys(c.owners)), ", ")
}

// repeated reports whether a giver who owns nothing has given all away before, as far as owners
// tell: what was wished holds, and no owner has a name for which the giver's may be a slip. received
// says that the receiver owns something although it is not among the owners yet.
func repeated(w transfer.Wish, giver string, owners []string, received bool) bool {
	switch {
	case w.Mode == transfer.Share, len(w.Paths) > 0: // A manager that shares keeps it; the owners of a path tell.
		return false
	case len(owners) == 0, w.Mode != transfer.Release && !received && !slices.Contains(owners, w.To):
		return false
	}
	// Neither the receiver nor another giver was meant.
	others := slices.DeleteFunc(slices.Clone(owners), func(name string) bool {
		return name == w.To || slices.Contains(w.From, name)
	})
	return text.Nearest(giver, others) == ""
}

// repetition reports whether an error about an object says no more than that all givers have given
// all of it away before.
func repetition(w transfer.Wish, err error, entries []managedfields.Entry) bool {
	if _, nothing := errors.AsType[*transfer.NothingError](err); !nothing {
		return false
	}
	owners := make([]string, len(entries))
	for i, e := range entries {
		owners[i] = e.Manager
	}
	return !slices.ContainsFunc(w.From, func(giver string) bool { return !repeated(w, giver, owners, false) })
}
