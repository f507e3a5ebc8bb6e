package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Set is one set: the result of sets.
type Set struct {
	// Ref is its parent.
	Ref object.Ref
	ID  string
	// Tooling is who writes it, as NAME/VERSION.
	Tooling string
	// Kinds and Namespaces are where its members may be.
	Kinds, Namespaces []string
	// Members that it has; nil if they were not asked for, or Err says why that is unknown.
	Members []Member
	Err     error
	// Fault is why we cannot apply to it; nil if we can.
	Fault error
	// Lock is who holds it; nil if it is free.
	Lock *Lock
	// LastRun is the run that held the lock last, or holds it; nil if that is unknown, as
	// with a set that only kubectl has written.
	LastRun *SetRun
	// Runs are those that are kept, the newest first; nil if they were not asked for.
	Runs []SetRun
}

// SetBegun says that a set did not exist and was created. Parent is where it lives from now on.
type SetBegun struct{ Parent object.Ref }

// NoSets says that sets were looked for, and that there are none.
type NoSets struct {
	// Namespace that was looked into; empty for all.
	Namespace string
}

// SetRun is a run that changed a set.
type SetRun struct {
	ID  string `json:"id,omitempty"`
	Who string `json:"who,omitempty"`
	// Result is how it ended: applied, failed, rolledBack; running if it has not, and
	// unfinished if it never will: it was killed.
	Result string `json:"result"`
	// Started and Ended are by the clock of the run; zero if unknown.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Line is how a run is listed that is kept: with its id, when it began, and who ran it.
	Line string `json:"-"`
}

// Member is a member of a set.
type Member struct {
	Ref object.Ref
	// Ready is set if Judged is; Reason says why it is not, or why that is unknown.
	Ready, Judged bool
	Reason        string
}

// Lock is who holds the lock of a set.
type Lock struct {
	Holder string `json:"holder"`
	// Since it is held, and Renewed last, by the holder's clock; zero if unknown.
	Since   time.Time `json:"since,omitzero"`
	Renewed time.Time `json:"renewed,omitzero"`
}

func (Set) event()      {}
func (SetBegun) event() {}

func (NoSets) event() {}

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
