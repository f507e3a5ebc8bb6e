package progress

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// hooksText names each hook that was left out, and when Helm would have run it.
func hooksText(e event.HooksLeftOut) string {
	var b strings.Builder
	b.WriteString("left out: " + text.Count(len(e.Hooks), "Helm hook") + ", for Helm to run\n")
	for _, h := range e.Hooks {
		b.WriteString("  " + phrase.Name(h.Ref) + "  " + text.Printable(strings.Join(h.On, ", ")) + "  (" + text.Printable(h.Source.String()) + ")\n")
	}
	if e.Hint != "" {
		b.WriteString("  hint: " + text.Printable(e.Hint) + "\n")
	}
	return b.String()
}
