package document

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// rollbackEntry is what became of an object when the run took back what it wrote.
type rollbackEntry struct {
	Action event.Action `json:"action"`
	Reason string       `json:"reason,omitempty"`
	Left   []string     `json:"left,omitempty"`
	Error  *fault       `json:"error,omitempty"`
}

// rolledBack is the entry with the object that it is about, for a stream.
type rolledBack struct {
	objectName
	rollbackEntry
}

func rollbackOf(e event.RolledBack) *rollbackEntry {
	return &rollbackEntry{Action: e.Action, Reason: e.Reason, Left: textsOf(e.Left), Error: faultOf(e.Err)}
}

// lines describe it in words; none for nil.
func (r *rollbackEntry) lines() []string {
	if r == nil {
		return nil
	}
	line := "rolled back: " + string(r.Action)
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	if r.Error != nil {
		line += ": " + r.Error.Message
	}
	if len(r.Left) > 0 {
		line += "; left to others: " + strings.Join(r.Left, ", ")
	}
	return []string{text.Printable(line)}
}
