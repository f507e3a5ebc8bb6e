package table

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/layout"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

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
		for _, line := range phrase.ErrorLines(c.Err, room) {
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
	if message := strings.Join(layout.Lines(c.Message), " "); message != "" && message != "false: "+text.Printable(c.For) {
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
	text := phrase.Value(v.Value)
	if room <= 0 || layout.Cells(expr+"  "+text) <= room {
		return []string{expr + "  " + text}
	}
	return []string{expr, "  " + layout.CutMiddle(text, max(room-len("  "), layout.LeastValue))}
}
