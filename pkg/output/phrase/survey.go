package phrase

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Surveyed says in a line what a survey counted, what was not expected, and what it could not read.
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

// countObjects counts objects, of which there is one holding for each manager.
func countObjects(sorted []event.ObjectHolding) int {
	n := 0
	for i, h := range sorted {
		if i == 0 || sorted[i-1].Ref.Key() != h.Ref.Key() {
			n++
		}
	}
	return n
}
