package object

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Deletion says how to delete one object.
type Deletion struct {
	// UID identifies the object. Another one that has its name by now is left
	// alone. Empty means any object of that name.
	UID types.UID
	// ResourceVersion is that of the object that was looked at: one that has changed since
	// is left alone. Empty means any.
	ResourceVersion string
	// Propagation says what becomes of the object's dependents. Empty leaves that
	// to the server.
	Propagation metav1.DeletionPropagation
	// GracePeriod in seconds; nil is the object's own.
	GracePeriod *int64
	// DryRun asks what would happen, and deletes nothing.
	DryRun bool
}
