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
	// Tooling is the tool that writes it, as NAME/VERSION.
	Tooling string
	// Kinds and Namespaces are where its members may be.
	Kinds, Namespaces []string
	// Members are nil if they were not asked for, or if Err says why they are unknown.
	Members []Member
	Err     error
	// Fault is why we cannot apply to it; nil if we can.
	Fault error
	// Lock is its holder; nil if the set is not locked.
	Lock *Lock
	// LastRun is the run that holds or last held the lock; nil if unknown, as for a set that only
	// kubectl has written.
	LastRun *SetRun
	// Runs are the kept ones, the newest first; nil if they were not asked for.
	Runs []SetRun
}

// SetBegun says that a set was created. Parent is where it is stored.
type SetBegun struct{ Parent object.Ref }

// NoSets says that there are no sets.
type NoSets struct {
	// Namespace is the one that was searched; empty for all.
	Namespace string
}

// SetRun is a run that changed a set.
type SetRun struct {
	ID  string `json:"id,omitempty"`
	Who string `json:"who,omitempty"`
	// Result is how it ended: applied, failed, rolledBack; running if it has not, and unfinished if
	// it was killed.
	Result string `json:"result"`
	// Started and Ended are by the clock of the run; zero if unknown.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Line lists a kept run: its id, its start, and its user.
	Line string `json:"-"`
}

// Member is a member of a set.
type Member struct {
	Ref object.Ref
	// Ready is valid if Judged is set; Reason says why it is not ready, or why that is unknown.
	Ready, Judged bool
	Reason        string
}

// Lock is the holder of a set's lock.
type Lock struct {
	Holder string `json:"holder"`
	// Since is when it was acquired, Renewed when it was last renewed, by the holder's clock; zero
	// if unknown.
	Since   time.Time `json:"since,omitzero"`
	Renewed time.Time `json:"renewed,omitzero"`
}

func (Set) event()      {}
func (SetBegun) event() {}

func (NoSets) event() {}

// Actions of a rollback, besides Failed, and Gone for objects that the run had created.
const (
	// Restored objects have their former values and owners again.
	Restored Action = "restored"
	// Kept objects stay as they are: the Reason says why. A prune keeps some too.
	Kept Action = "kept"
)

// RollingBack says that the run is being rolled back, and why.
type RollingBack struct {
	Err error
	// Objects is how many it wrote.
	Objects int
	// Within is how long it may take.
	Within time.Duration
}

// RolledBack is the result of the rollback for one object.
type RolledBack struct {
	Ref    object.Ref
	Action Action
	// Left are paths that others have changed since the run wrote them, and that keep their values.
	Left []fieldpath.Path
	// Unreturned are taken paths that their former owner does not own again.
	Unreturned []Unreturned
	// Reason says why the object was Kept, what Restored could not restore, or in what state a
	// Failed one is.
	Reason string
	// Err is why it Failed.
	Err error
}

// Unreturned are paths without an owner that Manager owned before the run: it has applied at
// another API version since.
type Unreturned struct {
	Manager string
	Paths   []fieldpath.Path
}

func (RollingBack) event() {}
func (RolledBack) event()  {}
