package document

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
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
