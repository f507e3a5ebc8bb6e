package document

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/event"

// hookEntry is one of Helm's hooks in JSON.
type hookEntry struct {
	objectName
	Source string   `json:"source,omitempty"`
	Hooks  []string `json:"hooks"`
}

func hooksOf(hooks []event.Hook) []hookEntry {
	var entries []hookEntry
	for _, h := range hooks {
		on := h.On
		if on == nil {
			on = []string{}
		}
		entries = append(entries, hookEntry{objectName: nameOf(h.Ref), Source: sourceOf(h.Source), Hooks: on})
	}
	return entries
}
