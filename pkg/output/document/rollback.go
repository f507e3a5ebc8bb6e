package document

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type rollbackEntry struct {
	Action event.Action `json:"action"`
	Reason string       `json:"reason,omitempty"`
	Left   []string     `json:"left,omitempty"`
	// Unreturned are taken paths that their former owner could not get back.
	Unreturned []unreturned `json:"unreturned,omitempty"`
	Error      *fault       `json:"error,omitempty"`
}

type unreturned struct {
	Manager string   `json:"manager"`
	Paths   []string `json:"paths"`
}

// rolledBack is the entry with its object, for the stream.
type rolledBack struct {
	objectName
	rollbackEntry
}

func rollbackOf(e event.RolledBack) *rollbackEntry {
	r := &rollbackEntry{Action: e.Action, Reason: e.Reason, Left: textsOf(e.Left), Error: faultOf(e.Err)}
	for _, u := range e.Unreturned {
		r.Unreturned = append(r.Unreturned, unreturned{Manager: u.Manager, Paths: textsOf(u.Paths)})
	}
	return r
}

// lines describes the rollback in words. r may be nil.
func (r *rollbackEntry) lines() []string {
	if r == nil {
		return nil
	}
	parts := []string{"rolled back: " + string(r.Action)}
	if r.Reason != "" {
		parts[0] += ": " + r.Reason
	}
	if r.Error != nil {
		parts[0] += ": " + r.Error.Message
	}
	if len(r.Left) > 0 {
		parts = append(parts, "left to others: "+strings.Join(r.Left, ", "))
	}
	for _, u := range r.Unreturned {
		parts = append(parts, u.Manager+" could not get back: "+strings.Join(u.Paths, ", "))
	}
	return []string{text.Printable(strings.Join(parts, "; "))}
}
