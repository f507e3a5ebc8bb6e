package event

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Event is something that an engine reports. The set of events is sealed.
type Event interface{ event() }

// Action is the outcome for one object.
type Action string

// Created is the first of the actions of apply.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Unchanged  Action = "unchanged"
	InConflict Action = "conflict"
	Failed     Action = "failed"
	Skipped    Action = "skipped"
	// Pruned means that the member left the set and was deleted.
	Pruned Action = "pruned"
	// Recreated means that the object was deleted and then created from the manifest.
	Recreated Action = "recreated"
	// Shared means that no value changed, but we became a co-owner of fields that others own.
	Shared Action = "shared"
)

// Create is the first of the actions of diff.
const (
	Create  Action = "create"
	Update  Action = "update"
	Delete  Action = "delete"
	None    Action = "none"
	Unknown Action = "unknown"
	// Recreate means that the object would be deleted and created again.
	Recreate Action = "recreate"
	// Share means that we would become a co-owner of fields, and no value would change.
	Share Action = "share"
)

// Applied converts an action of diff to the corresponding action of apply.
func (a Action) Applied() Action {
	switch a { //nolint:exhaustive // all other actions stay the same
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

// Compared is the inverse of Applied.
func (a Action) Compared() Action {
	for _, diff := range []Action{Create, Update, Recreate, Share, Delete, None} {
		if diff.Applied() == a {
			return diff
		}
	}
	return a
}

// Preparing describes the work of a run that does not yet have a plan, such as discovering kinds.
type Preparing struct {
	Text string
	// Since is the time at which this step began; zero means now. Within is the maximum duration of
	// the step; 0 means that it is unknown.
	Since  time.Time
	Within time.Duration
	Found  []string
}

// Planned lists the objects of the run. It precedes any result.
type Planned struct {
	Phases []Phase
	// Within limits the whole wait; 0 means no wait or no limit.
	Within time.Duration
}

// Phase is a group of objects that are processed concurrently.
type Phase struct {
	Name  string
	Total int
	Refs  []object.Ref
}

// PhaseStarted means that a phase begins. Index is its index in Planned.
type PhaseStarted struct {
	Index int
}

// Started means that work on an object has begun.
type Started struct {
	Ref    object.Ref
	Within time.Duration
}

// Applied is the result of an apply for one object.
type Applied struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	DryRun bool
	// Err is set if the action is Failed or Skipped. With InConflict, it is the error with which
	// the server would refuse the object even if all the conflicts were taken; nil if there is no
	// such error.
	Err error
	// Reason explains why the server did not check the object, for example because the same dry run
	// would create its namespace. With Recreated, Reason names the immutable fields.
	Reason string
	// Unleavable lists the paths of the conflicts that cannot be yielded. AdoptFrom is the manager
	// whose adoption would settle all conflicts; empty if there is none.
	Conflicts  []managedfields.Conflict
	Unleavable []fieldpath.Path
	AdoptFrom  string
	// Released lists the paths that left the manifest but stay in the object, because others own
	// them or because they are yielded. Removed lists the paths that left both the manifest and the
	// object.
	Released, Removed []managedfields.Change
	// Taken lists the paths that had other owners and now have the manifest's value. The user chose
	// to take these paths, or to adopt their managers.
	Taken []managedfields.Change
	// Yielded lists the paths that stay with their owners. Left lists the values that differ from
	// the manifest because something in the cluster sets them.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	// Adopted lists the managers whose fields became ours in this run. OnlyOwners means that
	// nothing else changed.
	Adopted    []string
	OnlyOwners bool
	// Object is the object on the server or, in a dry run, the object that the server would store.
	// It contains no managed fields and no Secret values. It is nil if it was not requested or not
	// applied.
	Object  *unstructured.Unstructured
	Sharing *managedfields.Sharing
	// Departed means that the member left the set. Causes lists the reasons why it still exists.
	Departed bool
	Causes   []Cause
	// Joined is set if an existing object became a member in this run.
	Joined *Joined
}

// Joined describes how an existing object became part of a set.
type Joined struct {
	// Set names the set.
	Set string `json:"set"`
	// From lists the former owners, such as "Helm release prod/web".
	From []string `json:"from,omitempty"`
}

// Compared is the result of a diff for one object.
type Compared struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// Departed means that the object left its set.
	Departed bool
	// UID is the UID of an existing object that will change or be deleted.
	UID types.UID
	// Reason explains why the action is Unknown or Recreate, or why the server did not check the
	// object.
	Reason string
	Err    error
	// Yielded lists the paths that stay with their owners. Left lists the values that differ from
	// the manifest because something in the cluster sets them.
	Yielded []fieldpath.Path
	Left    []managedfields.Conflict
	Changes []managedfields.Change
	// Adopted lists the managers whose fields would become ours. OnlyOwners means that nothing else
	// would change.
	Adopted    []string
	OnlyOwners bool
	Sharing    *managedfields.Sharing
	// Ownership lists the changes of owners that the apply makes, also where no value changes.
	Ownership []OwnerChange
	// Before holds our managed fields as they are now. After holds them as the server would store
	// them. Before is nil for Create. After is nil for Delete.
	Before, After map[string]any
}

// OwnerChange is a change of owners that an apply makes at some paths of an object.
type OwnerChange struct {
	// Becomes says how the owners change: owned (yours alone), shared, taken (others lose the paths to
	// you), lost (others lose them), or released (you lose them).
	Becomes Becoming `json:"becomes"`
	// Owners lists the other owners: those that keep a path that becomes shared or released, or those
	// that lose a path that becomes taken or lost. Their versions and times are not set.
	Owners []managedfields.Owner `json:"owners,omitempty"`
	// Paths lists the fields.
	Paths []string `json:"paths"`
}

// Becoming says how the owners of a path change.
type Becoming string

// These are the changes of owners. An owned or shared path was not ours, and becomes ours alone or
// together with others. A taken path loses other owners and is ours. A lost path loses other owners
// and is not ours. A released path is no longer ours, but keeps its value.
const (
	BecomesOwned    Becoming = "owned"
	BecomesShared   Becoming = "shared"
	BecomesTaken    Becoming = "taken"
	BecomesReleased Becoming = "released"
	BecomesLost     Becoming = "lost"
)

// Refused ends a run that wrote nothing, because it would not make the reviewed changes.
type Refused struct{ Err error }

func (Refused) event() {}

// Reviewed ends a diff in which no action was Unknown.
type Reviewed struct {
	Digest string
	// Values is a salted digest of the values of Secrets in the plan; empty if there are none.
	Values  string
	Cluster Cluster
	// Objects lists the objects that would change. --confirm uses the list to name the objects that
	// no longer match the review.
	Objects []ReviewedObject
}

// ReviewedObject is an object that a diff would change.
type ReviewedObject struct {
	Ref    object.Ref
	Digest string
	// Content is a digest of the fields of an object that would be created.
	Content string
	// Version is a digest of the version of an object that has values of Secrets.
	Version string
}

// Cluster is the cluster of a plan.
type Cluster struct {
	// UID is the UID of the namespace kube-system; empty if it could not be read, for the reason in
	// Unknown.
	UID types.UID `json:"uid,omitempty"`
	// Server is the URL of the API server.
	Server string `json:"server,omitempty"`
	// Context is the context in the kubeconfig, if there is one.
	Context string `json:"context,omitempty"`
	// Unknown is the reason why the UID could not be read.
	Unknown string `json:"unknown,omitempty"`
}

// String names the cluster for a person.
func (c Cluster) String() string {
	id := "a cluster with an unknown UID"
	if c.UID != "" {
		id = "cluster " + string(c.UID)
	}
	var also []string
	if c.Context != "" {
		also = append(also, "context "+c.Context)
	}
	if c.Server != "" {
		also = append(also, c.Server)
	}
	if len(also) == 0 {
		return id
	}
	return id + " (" + strings.Join(also, ", ") + ")"
}

// Warned is a warning from the server or from us. With a zero Ref, it is about the whole run.
type Warned struct {
	Ref  object.Ref
	Text string
	// Detail follows Text. Warnings that differ only in Ref and Detail become one line.
	Detail string
	// Rewriting is set if the warning is about a value of the input that the cluster stores otherwise.
	// All such warnings of a run share one line.
	Rewriting Rewriting
}

// Rewriting says which applies store another value than the input's.
type Rewriting int

const (
	// NotRewriting means that the warning is about something else.
	NotRewriting Rewriting = iota
	// Rewritten means that each apply does.
	Rewritten
	// RewrittenInEarnest means that each apply does except a dry run.
	RewrittenInEarnest
)

// Rewriters is the code of the remark that says which webhooks and policies may have stored values of the
// input otherwise.
const Rewriters = "RewrittenBy"

func (w Warned) String() string { return w.Text + w.Detail }

// Remarked predicts a failure, or points out something that may mislead. With a zero Ref, it is
// about the whole run.
type Remarked struct {
	Ref object.Ref `json:"-"`
	// Code is a stable identifier, such as SecretMissing.
	Code string `json:"code"`
	// Path is the path of the field in question, if there is one.
	Path string `json:"path,omitempty"`
	// Text is one sentence, for people.
	Text string `json:"message"`
	// Hint is the recommended action.
	Hint string `json:"hint,omitempty"`
}

// Decided explains the decision about each path, if the user asked for it.
type Decided struct {
	Ref       object.Ref
	Decisions []Decision
}

// Decision is the decision about one path, and the reason for it.
type Decision struct {
	Path fieldpath.Path
	// Outcome is yielded, taken, left or overruled.
	Outcome string
	// By names a flag, the annotation, or a place in a file, and Choice contains the text found
	// there. Both are empty for the built-in table.
	By, Choice string
}

// LeftOut means that an invalid part of the input was skipped.
type LeftOut struct {
	Err error
}

// HooksLeftOut lists the Helm hooks that are skipped, which is not an error.
type HooksLeftOut struct {
	Hooks []Hook
	Hint  string
}

// Hook is a Helm hook: an object that Helm applies at certain points in the life of a release.
type Hook struct {
	Ref    object.Ref
	Source object.Source
	On     []string
}

// Retrying means that a request failed and will be retried.
type Retrying struct {
	// Ref is zero if the whole server is unavailable.
	Ref object.Ref
	Err error
	// In holds the pause before the next attempt; Left holds the remaining time for retries.
	In, Left time.Duration
	Of       time.Duration
}

// Reachable means that the API server is answering again, after a [Retrying] event about the whole
// server.
type Reachable struct{}

// Waiting means that the run is blocked, for example until a CRD is served.
type Waiting struct {
	Ref  object.Ref
	For  string
	Kind string
	// Since is the time at which the wait began; zero means now.
	Since  time.Time
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
func (Reachable) event()    {}
func (Waiting) event()      {}
