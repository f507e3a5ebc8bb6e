package printer

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

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

// hooksText names each hook that was left out, and when Helm would have run it.
func hooksText(e event.HooksLeftOut) string {
	var b strings.Builder
	b.WriteString("left out: " + text.Count(len(e.Hooks), "Helm hook") + ", for Helm to run\n")
	for _, h := range e.Hooks {
		b.WriteString("  " + label(h.Ref) + "  " + text.Printable(strings.Join(h.On, ", ")) + "  (" + text.Printable(h.Source.String()) + ")\n")
	}
	if e.Hint != "" {
		b.WriteString("  hint: " + text.Printable(e.Hint) + "\n")
	}
	return b.String()
}
