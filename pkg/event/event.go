// Package event has the events that engines emit and printers consume: a sealed set of small
// structs. An event does not change once it is emitted, and holds no values of Secrets. It does no
// work.
package event

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Event is a report of an engine. The set is sealed.
type Event interface{ event() }

// Action is the outcome for one object of the input.
type Action string

// Actions of apply.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	InConflict Action = "conflict"
	Failed     Action = "failed"
	Skipped    Action = "skipped"
	// Pruned members left the input and were deleted; those that left it and stay are Kept.
	Pruned Action = "pruned"
	// Recreated objects were deleted and created from the manifest.
	Recreated Action = "recreated"
	// Shared objects keep their values; fields of others became ours too.
	Shared Action = "shared"
)

// Actions of diff.
const (
	Create  Action = "create"
	Update  Action = "update"
	Delete  Action = "delete"
	None    Action = "none"
	Unknown Action = "unknown"
	// Recreate: the object would be deleted and created.
	Recreate Action = "recreate"
	// Share: no value would change, and fields of others would become ours too.
	Share Action = "share"
)

// Applied returns apply's word for an action of diff, so that documents have one vocabulary. Other
// actions stay.
func (a Action) Applied() Action {
	switch a { //nolint:exhaustive // all others are the same word
	case Create:
		return Created
	case Update:
		return Configured
	case Recreate:
		return Recreated
	case Share:
		return Shared
	case Delete:
		return Pruned
	case None:
		return Unchanged
	}
	return a
}

// Compared is the reverse of Applied.
func (a Action) Compared() Action {
	for _, diff := range []Action{Create, Update, Recreate, Share, Delete, None} {
		if diff.Applied() == a {
			return diff
		}
	}
	return a
}

// Preparing says what the run does before it has a plan, such as asking the API server for kinds.
type Preparing struct {
	Text string
	// Since and Within are when it began and how long it takes; zero for now, and for unknown.
	Since  time.Time
	Within time.Duration
	// Found are lines for people who watch.
	Found []string
}

// Planned lists the objects of the run, once, before any result.
type Planned struct {
	Phases []Phase
	// Within is the longest that the run waits for all of it; 0 if it does not wait or waits
	// without limit.
	Within time.Duration
}

// Phase is a group of objects that are processed concurrently.
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

// Started says that work on the object has begun. One Applied or Compared for it follows.
type Started struct {
	Ref object.Ref
	// Within is how long it may take; 0 means no limit.
	Within time.Duration
}

// Applied is the result for one object of an apply.
type Applied struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// DryRun: nothing was persisted.
	DryRun bool
	// Err is set with Failed; with Skipped it says why, and with InConflict, if set, why taking
	// everything would not help.
	Err error
	// Reason says what was not checked, such as an object in a namespace that the same dry run
	// would create; with Recreated, which fields are immutable.
	Reason string
	// Conflicts are all paths in conflict, with InConflict. Unleavable are those that no yield can
	// name, and AdoptFrom is the manager whose adoption settles all of them; empty for none.
	Conflicts  []managedfields.Conflict
	Unleavable []fieldpath.Path
	AdoptFrom  string
	// Released are paths that left the manifest but stay, because others own them or, without
	// owners, because they are yielded. Removed are those that left the object.
	Released, Removed []managedfields.Change
	// Taken are paths of other owners that now have the manifest's value: conflicts that the user
	// chose to take, and fields of adopted managers.
	Taken []managedfields.Change
	// Yielded are paths that the user left to their owners; Left are values that differ from the
	// manifest's because something in the cluster sets them.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	// Adopted are the managers whose fields became ours in this run; with OnlyOwners nothing else
	// changed in the object.
	Adopted    []string
	OnlyOwners bool
	// Object is the object as the server has it then, or would have it, without managed fields and
	// with masked values of a Secret. Nil if it was not asked for, or not applied.
	Object *unstructured.Unstructured
	// Sharing is set with Shared.
	Sharing *managedfields.Sharing
	// Departed: the object is a member that left the set. Causes say why it still exists although
	// it was deleted.
	Departed bool
	Causes   []Cause
	// Joined is set if an existing object became a member in this run.
	Joined *Joined
}

// Joined says that an existing object became part of a set.
type Joined struct {
	// Set is the set's name, such as secret/shop.
	Set string `json:"set"`
	// From are its former claims: "Helm release prod/web".
	From []string `json:"from,omitempty"`
}

// Compared is the result for one object of a diff.
type Compared struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// Departed: the object is a member that left the set.
	Departed bool
	// Reason says why the action is Unknown or Recreate, or what was not checked.
	Reason string
	Err    error
	// Yielded are paths that the user left to their owners; Left are values that differ from the
	// manifest's because something in the cluster sets them.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	// Changes of the managed projection, sorted by path.
	Changes []managedfields.Change
	// Adopted are the managers whose fields would become ours; with OnlyOwners nothing else would
	// change in the object.
	Adopted    []string
	OnlyOwners bool
	// Sharing is set with Share.
	Sharing *managedfields.Sharing
	// Before and After are the projection now and as the server would make it; Before is nil for
	// Create, After for Delete.
	Before, After map[string]any
}

// Reviewed ends a comparison that found nothing unknown.
type Reviewed struct {
	// Digest identifies all of it, for --confirm.
	Digest string
	// Objects are those that would change. Each has a digest, so that a later difference can be named.
	Objects []ReviewedObject
}

// ReviewedObject is one object of a comparison.
type ReviewedObject struct {
	Ref    object.Ref
	Digest string
}

// Warned is a warning, the server's or ours, about one object. The zero Ref stands
// for the run as a whole.
type Warned struct {
	Ref  object.Ref
	Text string
	// Detail ends the text and concerns only this object: warnings that differ only in Detail and
	// object become one line.
	Detail string
}

func (w Warned) String() string { return w.Text + w.Detail }

// Remarked says what will not work, as far as that is known beforehand, or what may mislead. The
// zero Ref means the whole run.
type Remarked struct {
	Ref object.Ref `json:"-"`
	// Code is stable, for machines: SecretMissing.
	Code string `json:"code"`
	// Path is the field in question; may be empty.
	Path string `json:"path,omitempty"`
	// Text is one sentence for people, Hint what to do.
	Text string `json:"message"`
	Hint string `json:"hint,omitempty"`
}

// Decided says which choice decided which paths of an object, if that was asked for.
type Decided struct {
	Ref       object.Ref
	Decisions []Decision
}

// Decision is the decision about one path, and why.
type Decision struct {
	Path fieldpath.Path
	// Outcome is yielded, taken, left or overruled.
	Outcome string
	// By is the source: a flag, the annotation, or a place in a file; empty for the built-in table.
	// Choice is its text.
	By, Choice string
}

// LeftOut says that a faulty part of the input was left out. Err says what, where, and why.
type LeftOut struct {
	Err error
}

// HooksLeftOut lists the Helm hooks in the input that were left out, which is no fault.
type HooksLeftOut struct {
	Hooks []Hook
	// Hint says how to apply them; empty if that is impossible.
	Hint string
}

// Hook is a Helm hook: an object for certain moments in the life of a release.
type Hook struct {
	Ref    object.Ref
	Source object.Source
	// On are these moments, such as pre-install.
	On []string
}

// Retrying says that a request failed for a transient reason.
type Retrying struct {
	// Ref is the object of the request; zero if the server as a whole is unavailable.
	Ref object.Ref
	Err error
	// In is the pause before the next try; Left is the remaining time for retries.
	In, Left time.Duration
	// Of is the total time for retries; 0 if unknown.
	Of time.Duration
}

// Waiting says that nothing can be done until something else happens, such as a CRD being served.
type Waiting struct {
	Ref object.Ref
	For string
	// Kind is the kind that has to be served first, if the wait is for one; such waits become one
	// line.
	Kind string
	// Since is when the wait began; zero means now.
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
func (Reviewed) event()     {}
func (Warned) event()       {}
func (Remarked) event()     {}
func (Decided) event()      {}
func (LeftOut) event()      {}
func (HooksLeftOut) event() {}
func (Retrying) event()     {}
func (Waiting) event()      {}
