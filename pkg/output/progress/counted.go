package progress

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// soFar counts the objects that ended well and those that did not: "3 of 4 applied, 1 failed". It
// ignores awaited objects.
func soFar(s *output.State) string {
	if s.Total <= 0 || s.Word.Text == "" {
		return ""
	}
	return fmt.Sprintf("%d of %d %s%s", s.Good(), s.Total, s.Word.Text, troubles(s))
}

// troubles counts the bad results: ", 1 failed".
func troubles(s *output.State) string {
	var text strings.Builder
	for _, trouble := range []event.Action{event.InConflict, event.Remains, event.Failed, event.Unknown} {
		if n := s.Tally[trouble]; n > 0 {
			fmt.Fprintf(&text, ", %d %s", n, trouble)
		}
	}
	return text.String()
}

// title names the current phase: "phase 2 of 5, workloads".
func title(s *output.State) string {
	phase, ok := s.Phase()
	switch {
	case !ok:
		return ""
	case len(s.Phases) == 1:
		return text.Printable(phase.Name)
	default:
		return fmt.Sprintf("phase %d of %d, %s", s.Current+1, len(s.Phases), text.Printable(phase.Name))
	}
}
