package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Deletions lists recorded deletions, with the newest first. It is the result of history --deleted.
type Deletions struct {
	Where    string
	From     time.Time
	Found    []Deletion
	Coverage Coverage
	Limits   []string
	// Dropped counts deletions in the period that are no longer recorded; the latest was at Until.
	Dropped int
	Until   time.Time
}

// Deletion is a recorded deletion. Its times are in UTC.
type Deletion struct {
	Ref object.Ref
	UID string
	// Asked is zero if the webhook was not asked. Gone is zero if the object may still exist.
	Asked, Gone time.Time
	// Version is the resourceVersion at which the object was going or gone; empty if unknown.
	Version string
	// By is the cause: user, controller, owner, namespace or unknown.
	By   string
	User string
	// Several means that several users asked at the same time.
	Several bool
	// ViaKind and Via name the owner or the namespace that went. If By is unknown, they name an owner that the
	// object had.
	ViaKind, Via string
	Owners       []managedfields.Owner
	Gap          bool
}

// Time returns the latest known time of the deletion.
func (d Deletion) Time() time.Time {
	if d.Gone.IsZero() {
		return d.Asked
	}
	return d.Gone
}

func (Deletions) event() {}
