package apply

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Contested is an object in conflict, as it may be shown: values of Secrets are masked.
type Contested struct {
	Ref object.Ref
	// Conflicts, at least one.
	Conflicts []managedfields.Conflict
	// Refusal is why the server would refuse the object also if all of it were taken; nil
	// where it would not, or was not asked.
	Refusal error
}

// Decision is what becomes of one conflict.
type Decision string

const (
	// Undecided leaves the object in conflict.
	Undecided Decision = ""
	// Take makes the path ours: this value of these owners. If either has changed, the
	// path is contested again.
	Take Decision = "take"
	// Leave leaves the path to its owners.
	Leave Decision = "leave"
)
