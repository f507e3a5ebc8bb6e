package table

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// applySummary returns the last line of an apply, such as "3 created, 10 unchanged".
func applySummary(c *output.State, o output.Options) string {
	var parts []string
	for _, action := range output.ApplyActions() {
		n := c.Tally[action]
		switch {
		case n == 0:
		case action == event.InConflict && n > 1:
			parts = append(parts, fmt.Sprintf("%d conflicts", n))
		case o.Unasked && action == event.Created:
			parts = append(parts, fmt.Sprintf("%d to create", n))
		case o.Unasked && action == event.Configured:
			parts = append(parts, fmt.Sprintf("%d to send", n))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	parts = append(parts, undone(c)...)
	if len(parts) == 0 {
		parts = []string{"nothing to apply"}
	}
	text := strings.Join(parts, ", ") + shared(c)
	if len(c.Waited) > 0 {
		text += "; waited for: " + tallyOf(c.Waited)
	}
	switch {
	case o.Unasked:
		text += " (client dry run: nothing was written or checked)"
	case o.DryRun:
		text += " (dry run: nothing was written)"
	}
	return text
}

func diffSummary(c *output.State) string {
	words := map[event.Action]string{
		event.Create:   "to create",
		event.Update:   "to update",
		event.Recreate: "to recreate",
		event.Share:    "to share",
		event.Delete:   "to delete",
		event.None:     "unchanged",
		event.Unknown:  "unknown",
	}
	parts := append(counted(output.DiffActions(), c.Tally, words), undone(c)...)
	if len(parts) == 0 {
		return "nothing to compare"
	}
	return strings.Join(parts, ", ") + shared(c)
}

func shared(c *output.State) string {
	if c.Sharers == 0 {
		return ""
	}
	return "; " + text.Printable(c.Sharing.String()) + " (" + text.Count(c.Sharers, "object") + ")"
}

func counted(actions []event.Action, tally map[event.Action]int, words map[event.Action]string) []string {
	var parts []string
	for _, action := range actions {
		if n := tally[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, cmp.Or(words[action], string(action))))
		}
	}
	return parts
}

func undone(c *output.State) []string {
	if missing := c.Total - c.Done; missing > 0 {
		return append([]string{fmt.Sprintf("%d not reached", missing)}, unmade(c)...)
	}
	return unmade(c)
}

func unmade(c *output.State) []string {
	var parts []string
	if n := len(c.LeftOut); n > 0 {
		parts = append(parts, fmt.Sprintf("%d left out", n))
	}
	if n := len(c.Hooks); n > 0 {
		parts = append(parts, text.Count(n, "Helm hook")+" left out")
	}
	return parts
}

func waitSummary(c *output.State) string {
	parts := unmade(c)
	if text := tallyOf(c.Tally); text != "" {
		parts = append([]string{text}, parts...)
	}
	if len(parts) == 0 {
		return "nothing to wait for"
	}
	return strings.Join(parts, ", ")
}

func tallyOf(tally map[event.Action]int) string {
	words := map[event.Action]string{
		event.Met: "met", event.Failed: "failed", event.TimedOut: "not met in time", event.Unmet: "not met",
		event.Gone: "deleted meanwhile", event.Unselected: "no longer selected", event.Unknown: "unknown",
	}
	return strings.Join(counted(output.WaitActions(), tally, words), ", ")
}

func deleteSummary(c *output.State, dryRun bool) string {
	parts := append(counted(output.DeleteActions(), c.Tally, nil), undone(c)...)
	if len(parts) == 0 {
		parts = []string{"nothing to delete"}
	}
	text := strings.Join(parts, ", ")
	if dryRun {
		text += " (dry run: nothing was deleted)"
	}
	return text
}

// Up to oneScreen objects are all listed, even those that met their conditions. If there are more,
// only some are listed.
const oneScreen = 20

// Up to manySkipped objects that were skipped for the same reason are listed one by one. If there
// are more, they are only counted.
const manySkipped = 3

// Up to manyPaths paths of one kind are listed for an object. Any others are only counted.
const manyPaths = 10

func sameFault[T any](failed []T, why func(T) error) [][]T {
	return format.Grouped(failed, func(one T) string { return strings.Join(format.Explain(why(one)), "\n") })
}

// manyFailed is the number of objects with the same fault of which each is named.
const manyFailed = 5

// someOf returns the objects of a group that are named: all of a few, and the first of many.
func someOf[T any](b output.Base, group []T) []T {
	if b.Verbose || len(group) <= manyFailed {
		return group
	}
	return group[:manyFailed-1]
}

func moreOf(n int) string { return text.Count(n, "more object") + " (-v 1 names each)" }

func commonFault(err error, n int) error {
	if common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err); ok {
		return common.Of(n)
	}
	return err
}

type skipped[T any] struct {
	why  func(T) error
	one  func(of T, reason string)
	many func(count, reason string)
}

func (s skipped[T]) print(b output.Base, all []T) {
	for _, group := range sameFault(all, s.why) {
		why := strings.Join(b.Hints.ErrorLines(s.why(group[0]), format.Columns(b.Width)), "; ")
		if why != "" {
			why = ": " + why
		}
		if len(group) > manySkipped && !b.Verbose {
			s.many(text.Count(len(group), "object"), why)
			continue
		}
		for _, of := range group {
			s.one(of, why)
		}
	}
}
