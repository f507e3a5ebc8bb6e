package stuck

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Facts is what is known about one object that is being deleted.
type Facts struct {
	// Now is when it was looked.
	Now time.Time
	// Object is the object as it was read last. Its metadata may be all there is.
	Object *unstructured.Unstructured
	// Before and After are two looks at what it holds; After is zero where there was
	// no second.
	Before, After Look

	known *known
}

// Look is how much an object held at a time.
type Look struct {
	At   time.Time
	Left int
}

// terminating tells whether the deletion of an object was asked for.
func terminating(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }

// since is when the deletion was asked for. The server notes when it is due, which
// for pods is later by their grace period.
func since(u *unstructured.Unstructured) time.Time {
	at := u.GetDeletionTimestamp()
	if at == nil {
		return time.Time{}
	}
	grace := u.GetDeletionGracePeriodSeconds()
	if grace == nil {
		return at.Time
	}
	return at.Add(-time.Duration(*grace) * time.Second)
}
