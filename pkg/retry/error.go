package retry

import (
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// LostError says that others wrote to an object so often that no write of ours came in between. The
// write was not made.
type LostError struct {
	Ref object.Ref
	// Attempts were made within Took.
	Attempts int
	Took     time.Duration
	// Writers are the other writers, the busiest first, as far as managed fields name them.
	Writers []string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the object keeps changing: each of %d attempts within %s met a newer version than it had read", e.Attempts, e.Took.Round(100*time.Millisecond))
}

// Hint names the writers, and says what to do.
func (e *LostError) Hint() string {
	who := "another client writes to it all the time"
	if len(e.Writers) > 0 {
		who = text.Excerpt(text.List(e.Writers, mostWriters)) + " wrote to it meanwhile"
	}
	on := text.ShellQuote(e.Ref.Resource())
	if e.Ref.Namespace != "" {
		on += " -n " + text.ShellQuote(e.Ref.Namespace)
	}
	return who + ": run this again once that has settled; if it never does, see who writes which field: " +
		command.Kubectl("k8sconnect", "owners") + " " + on
}

// mostWriters is how many of them are named.
const mostWriters = 3
