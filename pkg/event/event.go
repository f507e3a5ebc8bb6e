// Package event has the events that an engine emits while it works, and printers consume: a sealed
// set of small structs. An event is final when it is emitted, and values of Secrets are masked in
// it. It holds no client and does no work.
package event

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Event is one thing an engine reports. The set is sealed.
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
	// Pruned members of a set left the input, and are deleted; those that left it and stay
	// are Kept.
	Pruned Action = "pruned"
	// Recreated objects were deleted, and created anew from the manifest.
	Recreated Action = "recreated"
	// Shared objects have the values that they had; fields of others became ours, or ours too.
	Shared Action = "shared"
)

// Actions of diff.
const (
	Create  Action = "create"
	Update  Action = "update"
	Delete  Action = "delete"
	None    Action = "none"
	Unknown Action = "unknown"
	// Recreate: the object would be deleted, and created anew.
	Recreate Action = "recreate"
	// Share: no value would change, and fields that others own would become ours too.
	Share Action = "share"
)

// Preparing says what the run does before it has a plan, such as asking the API
// server which kinds it serves.
type Preparing struct {
	Text string
}

// Planned comes once, before any result: the objects to work through.
type Planned struct {
	Phases []Phase
	// Within is the longest that the run waits for all of it; 0 if it does not wait,
	// or waits without limit.
	Within time.Duration
}

// Phase is one group of objects that are worked on in parallel.
type Phase struct {
	Name  string
	Total int
	// Refs are its objects in the order of the plan; results come in any order.
	Refs []object.Ref
}

// PhaseStarted says that the phase with this index in Planned begins.
type PhaseStarted struct {
	Index int
}

// Started says that work on the object has begun. One Applied or Compared for the
// same object follows.
type Started struct {
	Ref object.Ref
	// Within is how long it may take; 0 without a limit.
	Within time.Duration
}

// Applied is the result of one object of an apply.
type Applied struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// DryRun: nothing was persisted.
	DryRun bool
	// Err is set with Failed; with Skipped it says why, and with InConflict, if set,
	// why taking everything would not help.
	Err error
	// Reason says what was not checked, such as an object in a namespace that the
	// same dry run would create; with Recreated, which fields could not be changed.
	Reason string
	// Conflicts are all contested paths, with InConflict. Unleavable are those that no yield
	// names, and AdoptFrom is the manager whose adoption settles all of them; empty for none.
	Conflicts  []managedfields.Conflict
	Unleavable []fieldpath.Path
	AdoptFrom  string
	// Released are paths that left the manifest but stay because others own them, or, without
	// owners, because they are yielded;
	// Removed are those that left the object.
	Released, Removed []managedfields.Change
	// Taken are paths whose value was another owner's and is set to the manifest's:
	// contested ones that the user chose to take, and those of adopted managers.
	Taken []managedfields.Change
	// Yielded are paths that the user left to their owners; Left are values that
	// something in the cluster is meant to set, and that differ from the manifest's.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	// Adopted are the managers whose fields became ours in this run; with OnlyOwners
	// nothing else changed in the object.
	Adopted    []string
	OnlyOwners bool
	// Object is the object as the server then has it, or would have it, without its
	// managed fields and with the values of a Secret masked. Nil if it was not asked
	// for, or not applied.
	Object *unstructured.Unstructured
	// Sharing is set with Shared.
	Sharing *managedfields.Sharing
	// Departed: the object is not in the input, but is a member of the set that left it.
	// Causes say why it does not go although it was deleted.
	Departed bool
	Causes   []Cause
	// Joined is set if the object existed before, and became part of a set in this run.
	Joined *Joined
}

// Joined says that an existing object became part of a set.
type Joined struct {
	// Set is its name: secret/shop.
	Set string `json:"set"`
	// From are those who said until then that the object is theirs: "Helm release
	// prod/web".
	From []string `json:"from,omitempty"`
}

// Compared is the result of one object of a diff.
type Compared struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// Departed: the object is not in the input, but is a member of the set that left it.
	Departed bool
	// Reason says why the action is Unknown or Recreate, or what was not checked.
	Reason string
	Err    error
	// Yielded are paths that the user left to their owners; Left are values that
	// something in the cluster is meant to set, and that differ from the manifest's.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	// Changes of the managed projection, sorted by path.
	Changes []managedfields.Change
	// Adopted are the managers whose fields would become ours; with OnlyOwners
	// nothing else would change in the object.
	Adopted    []string
	OnlyOwners bool
	// Sharing is set with Share.
	Sharing *managedfields.Sharing
	// Before and After are the projection now and as the server would make it; Before
	// is nil for Create, After for Delete.
	Before, After map[string]any
}

// Warned is a warning, the server's or ours, about one object. The zero Ref stands
// for the run as a whole.
type Warned struct {
	Ref  object.Ref
	Text string
	// Detail ends the text and is about this object alone: warnings that differ only in it and in
	// the object become one line.
	Detail string
}

// String is the whole text.
func (w Warned) String() string { return w.Text + w.Detail }

// Remarked says what will not work, as far as that can be told beforehand, or what is not as
// it may seem. The zero Ref stands for the run as a whole.
type Remarked struct {
	Ref object.Ref `json:"-"`
	// Code is stable, and for machines: SecretMissing.
	Code string `json:"code"`
	// Path is the field that it is about; may be empty.
	Path string `json:"path,omitempty"`
	// Text is one sentence for people, Hint what to do.
	Text string `json:"message"`
	Hint string `json:"hint,omitempty"`
}

// Decided says what decided about paths of an object, where that was asked: flags, an annotation,
// rules of a file.
type Decided struct {
	Ref       object.Ref
	Decisions []Decision
}

// Decision is what became of one path, and why.
type Decision struct {
	Path fieldpath.Path
	// Outcome is yielded, taken, left or overruled.
	Outcome string
	// By is a flag, the annotation, or a place in a file; empty for the built-in table. Choice is
	// what it says.
	By, Choice string
}

// LeftOut says that something in the input was left out because it is at fault. Err
// says what, where it is written, and why.
type LeftOut struct {
	Err error
}

// HooksLeftOut lists the Helm hooks in the input that were left out. That is no
// fault.
type HooksLeftOut struct {
	Hooks []Hook
	// Hint says how they could be applied; empty where they cannot.
	Hint string
}

// Hook is one of Helm's hooks: an object for certain moments in the life of a
// release.
type Hook struct {
	Ref    object.Ref
	Source object.Source
	// On are those moments, such as pre-install.
	On []string
}

// Retrying says that a request failed for a transient reason.
type Retrying struct {
	// Ref of the object concerned; zero if the server as a whole is unavailable.
	Ref object.Ref
	Err error
	// In is the pause before the next try; Left is what remains of the time to
	// keep trying.
	In, Left time.Duration
	// Of is the total time of which Left remains; 0 if unknown.
	Of time.Duration
}

// Waiting says that nothing can be done before something else has happened, such as a
// definition being served.
type Waiting struct {
	Ref object.Ref
	For string
	// Kind is the kind that has to be served first, if the wait is for one; such waits become one
	// line.
	Kind string
	// Since is when that began; zero means now.
	Since time.Time
	// Within is the longest wait; 0 if unknown.
	Within time.Duration
}

func (Preparing) event()    {}
func (Planned) event()      {}
func (PhaseStarted) event() {}
func (Started) event()      {}
func (Applied) event()      {}
func (Compared) event()     {}
func (Warned) event()       {}
func (Remarked) event()     {}
func (Decided) event()      {}
func (LeftOut) event()      {}
func (HooksLeftOut) event() {}
func (Retrying) event()     {}
func (Waiting) event()      {}
