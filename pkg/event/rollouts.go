package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Past is the history of one object. It is the result of the verb history.
type Past struct {
	Ref object.Ref
	// Rolls means that the kind has revisions. Revisions are sorted, with the newest first.
	Rolls     bool
	Revisions []Revision
	// Records is what the webhook recorded about paths outside the revisions' changes; its Err says
	// why nothing is known.
	Records *History
	// Deletions are those of objects with this name. They say when deletions were watched only if the
	// object is missing.
	Deletions Deletions
	// Missing means that the object does not exist. Records is then nil.
	Missing bool
}

// RollReason says why a revision was made.
type RollReason string

const (
	// RollCreated means that the object was created with this template.
	RollCreated RollReason = "created"
	// RollRestart means that only the annotation that kubectl rollout restart sets was changed.
	RollRestart RollReason = "restart"
	// RollUndo means that the template is that of an earlier revision.
	RollUndo RollReason = "undo"
	// RollImagePolicy means that a manager that owns nothing in the template but images changed
	// only images.
	RollImagePolicy RollReason = "image-policy"
	// RollImages means that only images were changed.
	RollImages RollReason = "images"
	// RollTemplate is any other change.
	RollTemplate RollReason = "template"
	// RollUnknown means that the revision before this one is no longer kept.
	RollUnknown RollReason = "unknown"
)

// Revision is one version of a Pod template.
type Revision struct {
	// Number is 0 for a template that the controller has not rolled out yet.
	Number int64
	// Kept is the ReplicaSet or ControllerRevision that has the template.
	Kept object.Ref
	// Live means that the object has this template now.
	Live   bool
	Reason RollReason
	// Time is when the revision was made. If it is zero, only After is known: the revision is newer.
	Time, After time.Time
	// Of is the earlier revision whose template this one has; 0 if there is none, or if its number
	// is no longer kept.
	Of int64
	// Since is the revision with which Changes compares; 0 if there is none. It is the number before
	// this one unless the revisions between are no longer kept.
	Since   int64
	Changes []RevisionChange
	// ChangeCause is the annotation kubernetes.io/change-cause, which any client can set.
	ChangeCause string
}

// RevisionChange is a change of one path of a template.
type RevisionChange struct {
	managedfields.Change
	// Writer is the owner that made the change, as far as managed fields or records prove it; nil if
	// unknown. If it is unknown, the change's Owners are the present owners of the same value.
	Writer *managedfields.Owner
	// Time and User are zero if unknown.
	Time time.Time
	User string
}

// Rollout is a recorded write that changed a Pod template. Before and After identify the templates;
// see ownership.TemplateDigest.
type Rollout struct {
	Time          time.Time
	User          string
	Writer        *managedfields.Owner // nil if unknown
	Before, After string
}

func (Past) event() {}
