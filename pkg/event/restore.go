package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Actions of a way back, besides Gone, for what the run had created, and Failed.
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
	// Reason says why it is Kept, or what Restored could not bring back.
	Reason string
	// Err is why it Failed: the object is as the run made it.
	Err error
}

func (RollingBack) event() {}
func (RolledBack) event()  {}
