package printer

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func applyActions() []event.Action {
	return []event.Action{
		event.Created, event.Configured, event.Unchanged, event.InConflict,
		event.Failed, event.Skipped, event.Pruned,
	}
}

func diffActions() []event.Action {
	return []event.Action{event.Create, event.Update, event.Share, event.Delete, event.None, event.Unknown}
}

// summary counts results by action, each action of the verb included; it is
// written as a JSON object whose keys have a fixed order.
type summary struct {
	actions []event.Action
	tally   map[event.Action]int
}

// MarshalJSON keeps the order of the actions, which is that of the contract.
func (s summary) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(s.actions))
	for i, action := range s.actions {
		parts[i] = fmt.Sprintf("%q:%d", action, s.tally[action])
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// applySummary is the last line of an apply: "3 created, 10 unchanged".
func applySummary(c *progress, o Options) string {
	var parts []string
	for _, action := range applyActions() {
		n := c.tally[action]
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
	if missing := c.total - c.done; missing > 0 {
		parts = append(parts, fmt.Sprintf("%d not reached", missing))
	}
	parts = append(parts, c.unmade()...)
	if len(parts) == 0 {
		parts = []string{"nothing to apply"}
	}
	text := strings.Join(parts, ", ") + c.shared()
	if len(c.waited) > 0 {
		text += "; waited for: " + tallyOf(c.waited)
	}
	switch {
	case o.Unasked:
		text += " (client dry run: nothing was written or checked)"
	case o.DryRun:
		text += " (dry run: nothing was written)"
	}
	return text
}

// diffSummary is the last line of a diff: "1 to create, 40 unchanged".
func diffSummary(c *progress) string {
	words := map[event.Action]string{
		event.Create:  "to create",
		event.Update:  "to update",
		event.Share:   "to share",
		event.Delete:  "to delete",
		event.None:    "unchanged",
		event.Unknown: "unknown",
	}
	var parts []string
	for _, action := range diffActions() {
		if n := c.tally[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[action]))
		}
	}
	if missing := c.total - c.done; missing > 0 {
		parts = append(parts, fmt.Sprintf("%d not reached", missing))
	}
	parts = append(parts, c.unmade()...)
	if len(parts) == 0 {
		return "nothing to compare"
	}
	return strings.Join(parts, ", ") + c.shared()
}

// shared tells, once a run, of the fields that change their owners and not their
// values.
func (c *progress) shared() string {
	if c.sharers == 0 {
		return ""
	}
	return "; " + text.Printable(c.sharing.String()) + " (" + text.Count(c.sharers, "object") + ")"
}
