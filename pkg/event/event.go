package event

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Event is one thing an engine says. The set is sealed.
type Event interface{ event() }

// Action is what became of one object of the input.
type Action string

// Actions of apply.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	InConflict Action = "conflict"
	Failed     Action = "failed"
	Skipped    Action = "skipped"
	Pruned     Action = "pruned"
)

// Actions of diff.
const (
	Create  Action = "create"
	Update  Action = "update"
	Delete  Action = "delete"
	None    Action = "none"
	Unknown Action = "unknown"
	// Share: no value would change, and fields that others own would become ours too.
	Share Action = "share"
)

// Preparing says what the run does before there is a plan, such as asking the API
// server which kinds it serves.
type Preparing struct {
	Text string
}

// Planned comes once, before any result: what is going to be worked through.
type Planned struct {
	Phases []Phase
	// Within is how long the run waits for all of it at most; 0 where it does not
	// wait, or for as long as it takes.
	Within time.Duration
}

// Phase is one group of objects that are worked on side by side.
type Phase struct {
	Name  string
	Total int
	// Refs are its objects in the order of the plan: the order of results, which
	// come in any.
	Refs []object.Ref
}

// PhaseStarted says that the phase with this index of Planned begins.
type PhaseStarted struct {
	Index int
}

// Started says that work on the object is under way. It is followed by one Applied or
// Compared for the same object.
type Started struct {
	Ref object.Ref
	// Within is how long it may take, as far as somebody set a limit; 0 where nobody
	// did.
	Within time.Duration
}

// Applied is the result of one object of an apply.
type Applied struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// DryRun tells that nothing was persisted.
	DryRun bool
	// Err is set with Failed, with Skipped it says why, and with InConflict, if it is
	// set, why to take all of it would not help.
	Err error
	// Reason says what was not checked, such as an object in a namespace that the
	// same dry run would create.
	Reason string
	// Conflicts are all contested paths, with InConflict.
	Conflicts []managedfields.Conflict
	// Released are paths that left the manifest but stay, kept by others; Removed
	// those that left the object.
	Released, Removed []managedfields.Change
	// Taken are paths whose value was another owner's and is set to the manifest's:
	// contested ones that the user chose to take, and those of adopted managers.
	Taken []managedfields.Change
	// Yielded are paths that the user left to their owners; Left are values that
	// something in the cluster is meant to set, and that differ from the manifest's.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	// Adopted are the managers whose fields became ours in this run; OnlyOwners tells
	// that nothing else became of the object.
	Adopted    []string
	OnlyOwners bool
	// Object is the object as the server has it then, or would have it, without its
	// managed fields and with the values of a Secret masked. Nil where it was not
	// asked for, or not applied.
	Object *unstructured.Unstructured
	// Sharing is set with Unchanged where the apply changed who owns fields.
	Sharing *managedfields.Sharing
}

// Compared is the result of one object of a diff.
type Compared struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// Reason says why the action is Unknown, or what was not checked.
	Reason string
	Err    error
	// Yielded are paths that the user left to their owners; Left are values that
	// something in the cluster is meant to set, and that differ from the manifest's.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	// Changes of the managed projection, sorted by path.
	Changes []managedfields.Change
	// Adopted are the managers whose fields would become ours; OnlyOwners tells that
	// nothing else would become of the object.
	Adopted    []string
	OnlyOwners bool
	// Sharing is set with Share.
	Sharing *managedfields.Sharing
	// Before and After are the projection now and as the server would make it;
	// Before is nil for Create, After for Delete.
	Before, After map[string]any
}

// Warned is a warning, of the server or ours, about one object. The zero Ref
// stands for the run as a whole.
type Warned struct {
	Ref  object.Ref
	Text string
}

// LeftOut says that something of the input was left out because it is at fault.
// Err tells what, where it is written, and why.
type LeftOut struct {
	Err error
}

// HooksLeftOut says which Helm hooks of the input nothing is made of. It is no fault.
type HooksLeftOut struct {
	Hooks []Hook
	// Hint says how they could be applied; empty where they cannot.
	Hint string
}

// Hook is one of Helm's hooks: an object that is for some moments in the life of a
// release.
type Hook struct {
	Ref    object.Ref
	Source object.Source
	// On are those moments, such as pre-install.
	On []string
}

// Retrying says that a request did not come through for a reason that may pass.
type Retrying struct {
	// Ref of the object concerned; zero when the server as a whole is away.
	Ref object.Ref
	Err error
	// In is the pause before the next try; Left is what remains of the time to
	// keep trying.
	In, Left time.Duration
	// Of is the whole of the time of which Left remains; 0 where that is not known.
	Of time.Duration
}

// Waiting says that nothing can be done before something else has happened, such as a
// definition being served.
type Waiting struct {
	Ref object.Ref
	For string
	// Since is when that began; zero means now.
	Since time.Time
	// Within is how long it is waited for at most; 0 where that is not known.
	Within time.Duration
}

func (Preparing) event()    {}
func (Planned) event()      {}
func (PhaseStarted) event() {}
func (Started) event()      {}
func (Applied) event()      {}
func (Compared) event()     {}
func (Warned) event()       {}
func (LeftOut) event()      {}
func (HooksLeftOut) event() {}
func (Retrying) event()     {}
func (Waiting) event()      {}
