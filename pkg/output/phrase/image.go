package phrase

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Image says what a container runs, on how many Pods, and for how long.
func Image(i event.Image, now time.Time) string {
	const enough = len("sha256:") + 12
	id := i.ID[strings.LastIndex(i.ID, "@")+1:]
	said := text.Printable(i.Container) + " runs " + text.Printable(i.Image) + " as " + text.Printable(id[:min(len(id), enough)]) +
		": " + text.Count(len(i.Pods), "Pod")
	var first, last time.Time
	for _, p := range i.Pods {
		if first.IsZero() || p.Since.Before(first) {
			first = p.Since
		}
		if p.Since.After(last) {
			last = p.Since
		}
	}
	if first.IsZero() || last.After(now) {
		return said
	}
	shortest, longest := duration.HumanDuration(now.Sub(last)), duration.HumanDuration(now.Sub(first))
	if shortest == longest {
		return said + ", for " + longest
	}
	return said + ", for " + shortest + " to " + longest
}
