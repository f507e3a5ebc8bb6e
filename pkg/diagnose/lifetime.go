package diagnose

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Terminating reports whether the deletion of an object was requested.
func Terminating(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }

// Since is the time at which deletion was requested. The server stores the end of the
// grace period instead, which is later for pods.
func Since(u *unstructured.Unstructured) time.Time {
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

// Setters are the owners that state the finalizer.
func Setters(u *unstructured.Unstructured, finalizer string) []managedfields.Owner {
	entries, err := managedfields.Entries(u)
	if err != nil {
		return nil // Its owner remains unknown.
	}
	path, err := fieldpath.ParsePath(".metadata.finalizers[=" + quoted(finalizer) + "]")
	if err != nil {
		return nil
	}
	return managedfields.HoldersOf(entries, path)
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
