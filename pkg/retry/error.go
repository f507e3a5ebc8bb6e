package retry

import (
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// LostError means that the object had changed before each of our attempts, so our write never
// succeeded.
type LostError struct {
	Ref      object.Ref
	Attempts int
	Took     time.Duration
	// Writers lists the other writers, most frequent first.
	Writers []string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the object keeps changing: in all %d attempts within %s, it had changed since it was read", e.Attempts, e.Took.Round(100*time.Millisecond))
}

// Hint names the other writers and the next step.
func (e *LostError) Hint() string {
	who := "its managed fields record no other writer"
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
