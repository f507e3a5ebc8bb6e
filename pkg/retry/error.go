package retry

import (
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// LostError means that another client wrote to the object before each of our attempts, so our write
// never succeeded.
type LostError struct {
	Ref      object.Ref
	Attempts int
	Took     time.Duration
	// Writers lists the other writers, most frequent first.
	Writers []string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the object keeps changing: in all %d attempts within %s, another client wrote to it first", e.Attempts, e.Took.Round(100*time.Millisecond))
}

// Hint names the other writers and the next step.
func (e *LostError) Hint() string {
	who := "another client keeps writing to it"
	if len(e.Writers) > 0 {
		who = text.Excerpt(text.List(e.Writers, mostWriters)) + " wrote to it in the meantime"
	}
	on := text.ShellQuote(e.Ref.Resource())
	if e.Ref.Namespace != "" {
		on += " -n " + text.ShellQuote(e.Ref.Namespace)
	}
	return who + ": run this again once it is stable; if it never is, see which manager writes which field: " +
		command.Kubectl("k8sconnect", "owners") + " " + on
}

const mostWriters = 3
