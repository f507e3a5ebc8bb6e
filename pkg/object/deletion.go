package object

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Deletion says how one object is to be deleted.
type Deletion struct {
	// UID is the object that is meant. Another one that has its name by now is left
	// alone. Empty means whichever has the name.
	UID types.UID
	// Propagation says what becomes of the object's dependents. Empty leaves that
	// to the server.
	Propagation metav1.DeletionPropagation
	// GracePeriod in seconds; nil is the object's own.
	GracePeriod *int64
	// DryRun asks what would happen, and deletes nothing.
	DryRun bool
}
