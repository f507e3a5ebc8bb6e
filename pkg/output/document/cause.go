package document

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func causeTexts(causes []event.Cause) []string {
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

type rootEntry struct {
	event.Cause
	Count int          `json:"count"`
	Holds []object.Ref `json:"holds"`
}

func rootedOf(r event.Rooted) rootEntry { return rootEntry{r.Cause, len(r.Holds), orEmpty(r.Holds)} }
