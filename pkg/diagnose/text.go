package diagnose

import (
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Name writes an object in a sentence, in kubectl's notation.
func Name(ref object.Ref) string {
	if ref.Namespace == "" {
		return text.Excerpt(ref.Resource())
	}
	return text.Excerpt(ref.Resource() + " -n " + ref.Namespace)
}

// On writes the object at the end of a command: TYPE/NAME -n NAMESPACE.
func On(ref object.Ref) string {
	if ref.Namespace == "" {
		return text.ShellQuote(ref.Resource())
	}
	return text.ShellQuote(ref.Resource()) + " -n " + text.ShellQuote(ref.Namespace)
}

// Ago formats how long ago something was, in the largest useful unit.
func Ago(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// Some lists the first texts and counts the rest.
func Some(texts []string, most int) []string {
	if len(texts) <= most {
		return texts
	}
	return append(texts[:most:most], fmt.Sprintf("and %d more", len(texts)-most))
}
