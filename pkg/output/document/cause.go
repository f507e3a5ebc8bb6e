package document

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// causeEntry is a cause in JSON.
type causeEntry struct {
	Code      string      `json:"code"`
	Message   string      `json:"message"`
	Evidence  []string    `json:"evidence,omitempty"`
	Log       []string    `json:"log,omitempty"`
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
	entry := causeEntry{Code: c.Code, Message: c.Message, Evidence: c.Evidence, Log: c.Log, Next: c.Next, Risk: c.Risk}
	if c.BlockedBy != (object.Ref{}) {
		name := nameOf(c.BlockedBy)
		entry.BlockedBy = &name
	}
	return entry
}

// causeTexts returns causes for a report.
func causeTexts(causes []causeEntry) []string {
	var text []string
	for _, c := range causes {
		text = append(text, c.Code+": "+c.Message)
		text = append(text, c.Evidence...)
		for _, line := range c.Log {
			text = append(text, "log: "+line)
		}
		if c.Next != "" {
			text = append(text, "next: "+c.Next)
		}
	}
	return text
}

// rootEntry is a cause with everything that it blocks.
type rootEntry struct {
	causeEntry
	Count int          `json:"count"`
	Holds []objectName `json:"holds"`
}

func rootedOf(r event.Rooted) rootEntry {
	entry := rootEntry{causeEntry: causeOfEvent(r.Cause), Count: len(r.Holds), Holds: make([]objectName, len(r.Holds))}
	for i, ref := range r.Holds {
		entry.Holds[i] = nameOf(ref)
	}
	return entry
}
