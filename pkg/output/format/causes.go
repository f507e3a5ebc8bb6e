package format

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Stuck describes the causes of a stuck object, and says why some causes may be missing.
func Stuck(s event.Stuck, columns int) []string {
	text := Causes(s.Causes)
	if len(text) == 0 && s.Err == nil {
		text = []string{"no cause was found"}
	}
	for _, line := range ErrorLines(s.Err, columns) {
		text = append(text, "could not tell: "+line)
	}
	return text
}

// Causes formats causes for people to read: the message of each and, below it, the evidence, the
// remedy, and the risk of the remedy.
func Causes(causes []event.Cause) []string {
	var text []string
	for _, c := range causes {
		text = append(text, causeHead(c))
		for _, evidence := range c.Evidence {
			text = append(text, indented("  ", evidence)...)
		}
		text = append(text, indented("  log      ", strings.Join(c.Log, "\n"))...)
		// BlockedBy may name a missing object. A missing object holds nothing back, and the message
		// already names it.
		if c.BlockedBy != (object.Ref{}) && !strings.HasSuffix(c.Code, "Missing") && c.Code != "NoMetrics" {
			text = append(text, "  held by  "+Name(c.BlockedBy))
		}
		text = append(text, indented("  next     ", c.Next)...)
		text = append(text, indented("  risk     ", c.Risk)...)
	}
	return text
}

// Brief removes the conditions, events and causes that a recognized cause already explains.
func Brief(causes []event.Cause) []event.Cause {
	holding := slices.ContainsFunc(causes, func(c event.Cause) bool {
		return slices.ContainsFunc(c.Evidence, func(e string) bool { return strings.HasPrefix(e, "holds back ") })
	})
	explained := slices.ContainsFunc(causes, func(c event.Cause) bool { return c.Code != "ProgressDeadlineExceeded" && !c.Doubt && !c.Passing })
	var out []event.Cause
	for _, c := range causes {
		if holding && c.Code == "ContentRemains" || explained && c.Code == "ProgressDeadlineExceeded" {
			continue
		}
		if c.Code != "CreateRefused" { // For this code, the evidence is all that is known.
			c.Evidence = slices.DeleteFunc(slices.Clone(c.Evidence), repeats)
		}
		out = append(out, c)
	}
	return out
}

func repeats(evidence string) bool {
	return slices.ContainsFunc([]string{"condition ReplicaFailure: ", "event FailedCreate: ", "NamespaceDeletionDiscoveryFailure: "},
		func(prefix string) bool { return strings.HasPrefix(evidence, prefix) })
}

// Codes lists the codes of causes, such as "NoStorageClass, ImagePull".
func Codes(causes []event.Cause) string {
	var codes []string
	for _, c := range causes {
		if code := text.Printable(c.Code); !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, ", ")
}

// Doubts ensures that each doubt is printed in full only once. A doubt is something that could not
// be read, for example because a permission is missing. The zero value is ready to use.
type Doubts struct{ reported map[string]bool }

// Once removes doubts that were already printed. If a doubt is the only cause, Once keeps its
// message.
func (d *Doubts) Once(causes []event.Cause) []event.Cause {
	var out []event.Cause
	for _, c := range causes {
		if !c.Doubt {
			out = append(out, c)
			continue
		}
		key := c.Code + "\n" + c.Message
		switch {
		case !d.reported[key]:
			out = append(out, c)
		case len(causes) == 1:
			out = append(out, event.Cause{Code: c.Code, Message: c.Message, Doubt: true})
		}
		if d.reported == nil {
			d.reported = map[string]bool{}
		}
		d.reported[key] = true
	}
	return out
}

func causeHead(c event.Cause) string {
	message := strings.Join(Lines(c.Message), " ")
	if message == "" {
		return text.Printable(c.Code)
	}
	return text.Printable(c.Code) + ": " + message
}

func indented(first, text string) []string {
	var out []string
	for _, line := range Lines(text) {
		out = append(out, first+line)
		first = Pad("", len(first))
	}
	return out
}

// Roots returns the keys of an object's causes. A doubt counts only if nothing else is known, because it
// is printed once for all objects.
func Roots(of object.Ref, causes []event.Cause) map[event.RootKey]bool {
	roots := map[event.RootKey]bool{}
	for _, c := range causes {
		if !c.Doubt {
			roots[c.Root(of)] = true
		}
	}
	if len(roots) == 0 {
		for _, c := range causes {
			roots[c.Root(of)] = true
		}
	}
	return roots
}

// SameTexts reports whether two lists print as the same text.
func SameTexts(a, b []event.Cause) bool { return slices.Equal(Causes(a), Causes(b)) }

// TerminatingFor says how long an object has been terminating.
func TerminatingFor(since, now time.Time) string {
	if since.IsZero() || since.After(now) {
		return ""
	}
	return " for " + duration.HumanDuration(now.Sub(since))
}

// Surveyed summarizes a survey in one line.
func Surveyed(s event.Surveyed) string {
	parts := []string{text.Count(s.Objects, "object") + text.Printable(s.Where), text.Count(len(s.Managers), "manager")}
	if s.Unmanaged > 0 {
		parts = append(parts, text.Count(s.Unmanaged, "object")+" without managed fields")
	}
	if s.Expecting {
		if len(s.Unexpected) == 0 {
			parts = append(parts, "nothing unexpected")
		} else {
			parts = append(parts, fmt.Sprintf("%d with unexpected owners", countObjects(s.Unexpected)))
		}
	}
	if len(s.Unread) > 0 {
		parts = append(parts, fmt.Sprintf("%d not read", len(s.Unread)))
	}
	return strings.Join(parts, ", ")
}

func countObjects(sorted []event.ObjectHolding) int {
	n := 0
	for i, h := range sorted {
		if i == 0 || sorted[i-1].Ref.Key() != h.Ref.Key() {
			n++
		}
	}
	return n
}
