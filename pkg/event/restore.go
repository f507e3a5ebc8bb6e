package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Actions of a rollback, besides Failed, and Gone for what the run had created.
const (
	// Restored objects have the values and the owners back that they had.
	Restored Action = "restored"
	// Kept objects are left as they are: the Reason says why. A prune keeps some, too.
	Kept Action = "kept"
)

// RollingBack says that the run takes back what it wrote, and why.
type RollingBack struct {
	Err error
	// Objects is how many it wrote.
	Objects int
	// Within is how long it may take.
	Within time.Duration
}

// RolledBack is what became of one object on the way back.
type RolledBack struct {
	Ref    object.Ref
	Action Action
	// Left are paths that others have changed since the run wrote them: they keep them.
	Left []fieldpath.Path
	// Unreturned are paths that the run had taken and that their owner does not own again.
	Unreturned []Unreturned
	// Reason says why the object was Kept, what Restored could not bring back, or what state a
	// Failed one is in now.
	Reason string
	// Err is why it Failed.
	Err error
}

// Unreturned are paths that have no owner, although Manager owned them before the run: it has
// applied at another version of the API since.
type Unreturned struct {
	Manager string
	Paths   []fieldpath.Path
}

func (RollingBack) event() {}
func (RolledBack) event()  {}
