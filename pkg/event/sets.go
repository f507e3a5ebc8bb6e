package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Set describes one set. It is the result of the verb sets.
type Set struct {
	Ref               object.Ref
	ID                string
	Tooling           string
	Kinds, Namespaces []string
	// Members is nil if they were not requested or are unknown.
	Members []Member
	Err     error
	Fault   error
	Lock    *Lock
	// LastRun is the run that holds or last held the lock; nil if unknown.
	LastRun *SetRun
	Runs    []SetRun
}

// SetBegun means that a set was created. Parent is the object that stores it.
type SetBegun struct{ Parent object.Ref }

// NoSets means that no set was found.
type NoSets struct {
	Namespace string
}

// SetRun is a run that changed a set.
type SetRun struct {
	// ID is the ID of the run. For a kept run, sets rollback --to takes it.
	ID string `json:"id,omitempty"`
	// The user and the machine of the run.
	Who string `json:"who,omitempty"`
	// Result is "applied", "failed", "rolledBack", "refused", "running", or "unfinished", which
	// means that the run was killed.
	Result string `json:"result"`
	// Started is the beginning by the clock of the run's machine, if known.
	Started time.Time `json:"started,omitzero"`
	// Ended is the end by the same clock, if known.
	Ended time.Time `json:"ended,omitzero"`
	Line  string    `json:"-"`
}

// Member is a member of a set.
type Member struct {
	Ref object.Ref
	// Ready is valid if Judged is set. Reason explains why the member is not ready, or why its
	// readiness is unknown.
	Ready, Judged bool
	Reason        string
}

// Lock is the holder of a set's lock.
type Lock struct {
	// Holder names the run that holds the lock.
	Holder string `json:"holder"`
	// Since is the time at which the lock was acquired, by the holder's clock, if known.
	Since time.Time `json:"since,omitzero"`
	// Renewed is the time at which the lock was last renewed, by the same clock, if known.
	Renewed time.Time `json:"renewed,omitzero"`
}

func (Set) event()      {}
func (SetBegun) event() {}

func (NoSets) event() {}

// Restored and Kept are the actions of a rollback. A rollback also uses Failed, and Gone for
// objects that the run had created.
const (
	// Restored means that the object has its former values and owners again.
	Restored Action = "restored"
	// Kept means that the object was not changed; Reason explains why. Prune uses this action too.
	Kept Action = "kept"
)

// RollingBack means that the run is being rolled back, because of Err.
type RollingBack struct {
	Err     error
	Objects int
	Within  time.Duration
}

// RolledBack is the result of a rollback for one object.
type RolledBack struct {
	Ref    object.Ref
	Action Action
	Left   []fieldpath.Path
	// Unreturned lists paths that were taken and could not be given back to their former owner.
	Unreturned []Unreturned
	Reason     string
	Err        error
}

// Unreturned lists a manager's paths that now have no owner, because the manager has since applied
// using another API version.
type Unreturned struct {
	Manager string
	Paths   []fieldpath.Path
}

func (RollingBack) event() {}
func (RolledBack) event()  {}
