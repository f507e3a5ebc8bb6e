package printer

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// causeEntry is how JSON shows why something does not happen.
type causeEntry struct {
	Code      string      `json:"code"`
	Message   string      `json:"message"`
	Evidence  []string    `json:"evidence,omitempty"`
	Next      string      `json:"next,omitempty"`
	Risk      string      `json:"risk,omitempty"`
	BlockedBy *objectName `json:"blockedBy,omitempty"`
}

func causesOf(causes []event.Cause) []causeEntry {
	var list []causeEntry
	for _, c := range causes {
		list = append(list, causeOfEvent(c))
	}
	return list
}

func causeOfEvent(c event.Cause) causeEntry {
	entry := causeEntry{Code: c.Code, Message: c.Message, Evidence: c.Evidence, Next: c.Next, Risk: c.Risk}
	if c.BlockedBy != (object.Ref{}) {
		name := nameOf(c.BlockedBy)
		entry.BlockedBy = &name
	}
	return entry
}

// causeLines tells causes to people: the message, and below it what it is concluded
// from, what to do, and what that may cost.
func causeLines(causes []event.Cause) []string {
	var text []string
	for _, c := range causes {
		text = append(text, causeHead(c))
		for _, evidence := range c.Evidence {
			text = append(text, indented("  ", evidence)...)
		}
		if c.BlockedBy != (object.Ref{}) {
			text = append(text, "  held by  "+label(c.BlockedBy))
		}
		text = append(text, indented("  next     ", c.Next)...)
		text = append(text, indented("  risk     ", c.Risk)...)
	}
	return text
}

func causeHead(c event.Cause) string {
	message := strings.Join(lines(c.Message), " ")
	if message == "" {
		return text.Printable(c.Code)
	}
	return text.Printable(c.Code) + ": " + message
}

// indented puts a word before the first line of a text, and blanks before the
// others.
func indented(first, text string) []string {
	var out []string
	for _, line := range lines(text) {
		out = append(out, first+line)
		first = pad("", len(first))
	}
	return out
}

// sameCause reports whether two lists begin with one cause: what blocks is the same,
// or, where nothing is known to, what is said.
func sameCause(a, b []event.Cause) bool {
	if len(a) == 0 || len(b) == 0 || a[0].Code != b[0].Code || a[0].BlockedBy != b[0].BlockedBy {
		return len(a) == 0 && len(b) == 0
	}
	return a[0].BlockedBy != (object.Ref{}) || a[0].Message == b[0].Message
}

// terminatingFor says how long an object has been going.
func terminatingFor(since, now time.Time) string {
	if since.IsZero() || since.After(now) {
		return ""
	}
	return " for " + duration.HumanDuration(now.Sub(since))
}
