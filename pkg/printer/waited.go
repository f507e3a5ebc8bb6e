package printer

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// waitedObject is one object of a WaitResult, and of the stream.
type waitedObject struct {
	objectName
	Result     event.Action     `json:"result,omitempty"` // none while it is waited for
	Reason     string           `json:"reason,omitempty"`
	Any        bool             `json:"any,omitempty"`
	Conditions []conditionEntry `json:"conditions,omitempty"`
	Causes     []causeEntry     `json:"causes,omitempty"`
	Error      *fault           `json:"error,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
}

// conditionEntry is one condition and what it read.
type conditionEntry struct {
	For     string         `json:"for,omitempty"`
	FailOn  string         `json:"failOn,omitempty"`
	Met     bool           `json:"met"`
	Failed  bool           `json:"failed,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	Values  map[string]any `json:"values,omitempty"`
	Absent  []string       `json:"absent,omitempty"`
	Error   *fault         `json:"error,omitempty"`
}

// waitEntry is what came of waiting for an object that was applied.
type waitEntry struct {
	Result     event.Action     `json:"result"`
	Reason     string           `json:"reason,omitempty"`
	Conditions []conditionEntry `json:"conditions,omitempty"`
	Causes     []causeEntry     `json:"causes,omitempty"`
	Error      *fault           `json:"error,omitempty"`
}

func waitEntryOf(w event.Waited) *waitEntry {
	o := waitedOf(w)
	return &waitEntry{Result: o.Result, Reason: o.Reason, Conditions: o.Conditions, Causes: o.Causes, Error: o.Error}
}

func waitedOf(w event.Waited) waitedObject {
	return waitedObject{
		objectName: nameOf(w.Ref), Result: w.Action, Reason: w.Note, Any: w.Any,
		Conditions: conditionsOf(w.Conditions), Causes: causesOf(w.Causes), Error: faultOf(w.Err),
	}
}

func judgedOf(j event.Judged) waitedObject {
	return waitedObject{objectName: nameOf(j.Ref), Reason: j.Note, Conditions: conditionsOf(j.Conditions)}
}

func conditionsOf(conditions []event.Condition) []conditionEntry {
	var list []conditionEntry
	for _, c := range conditions {
		entry := conditionEntry{
			For: c.For, Met: c.Met, Failed: c.Failed, Reason: c.Reason, Message: c.Message, Error: faultOf(c.Err),
		}
		if c.Forbidden {
			entry.For, entry.FailOn = "", c.For
		}
		for _, v := range c.Values {
			if v.Absent {
				entry.Absent = append(entry.Absent, v.Expr)
				continue
			}
			if entry.Values == nil {
				entry.Values = map[string]any{}
			}
			entry.Values[v.Expr] = v.Value
		}
		list = append(list, entry)
	}
	return list
}

// conditionLines tell people what conditions said: each that is not as it should
// be, with what it read. They fit into so many columns, 0 for any, as far as there are
// blanks to break at.
func conditionLines(conditions []event.Condition, room int) []string {
	var text []string
	for _, c := range conditions {
		if c.Met != c.Forbidden || c.Reason == "NotFound" { // That is told with the object.
			continue
		}
		text = append(text, conditionHead(c))
		for _, v := range c.Values {
			for _, line := range valueLines(v, max(0, room-len("  "))) {
				text = append(text, "  "+line)
			}
		}
		for _, line := range forPeople(c.Err, room) {
			text = append(text, "  could not tell: "+line)
		}
	}
	return text
}

func conditionHead(c event.Condition) string {
	head := "not " + text.Printable(c.For)
	if c.Forbidden {
		head = text.Printable(c.For)
	}
	if message := strings.Join(lines(c.Message), " "); message != "" && message != "false: "+text.Printable(c.For) {
		head += ": " + message
	}
	return head
}

// valueLines are what was read, and its value beside it, or below where there is no
// room for that.
func valueLines(v event.Value, room int) []string {
	expr := text.Printable(v.Expr)
	if v.Absent {
		return []string{expr + "  (absent)"}
	}
	text := value(v.Value)
	if room <= 0 || cells(expr+"  "+text) <= room {
		return []string{expr + "  " + text}
	}
	return []string{expr, "  " + cutMiddle(text, max(room-len("  "), leastValue))}
}

// reading says in a few words what was read.
func reading(v event.Value) string {
	if v.Absent {
		return text.Printable(v.Expr) + " is absent"
	}
	return text.Printable(v.Expr) + " is " + cutMiddle(value(v.Value), brief)
}

// shortly says in a few words what an object still lacks.
func shortly(j event.Judged) string {
	if j.Note != "" {
		return text.Printable(j.Note)
	}
	for _, c := range j.Conditions {
		if c.Met || c.Forbidden {
			continue
		}
		var read []string
		for _, v := range c.Values {
			read = append(read, reading(v))
		}
		message := strings.Join(lines(c.Message), " ")
		switch {
		case message == "false: "+text.Printable(c.For) && len(read) > 0:
			return strings.Join(read, ", ")
		case message != "" && len(read) > 0:
			return message + " (" + strings.Join(read, ", ") + ")"
		case len(read) > 0:
			return strings.Join(read, ", ")
		case message != "":
			return message
		default:
			return "not " + text.Printable(c.For)
		}
	}
	return ""
}

// waitActions are the results of a wait.
func waitActions() []event.Action {
	return []event.Action{event.Met, event.Failed, event.TimedOut, event.Unmet, event.Gone, event.Unselected, event.Unknown}
}

// waitSummary is the last line of a wait: "3 met, 1 not met in time".
func waitSummary(c *progress) string {
	parts := c.unmade()
	if text := tallyOf(c.tally); text != "" {
		parts = append([]string{text}, parts...)
	}
	if len(parts) == 0 {
		return "nothing to wait for"
	}
	return strings.Join(parts, ", ")
}

// tallyOf counts results of waiting.
func tallyOf(tally map[event.Action]int) string {
	words := map[event.Action]string{
		event.Met: "met", event.Failed: "failed", event.TimedOut: "not met in time", event.Unmet: "not met",
		event.Gone: "deleted meanwhile", event.Unselected: "not selected any more", event.Unknown: "unknown",
	}
	var parts []string
	for _, action := range waitActions() {
		if n := tally[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[action]))
		}
	}
	return strings.Join(parts, ", ")
}
