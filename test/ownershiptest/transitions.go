package ownershiptest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Transitions returns the transitions from one version of an object to the next; old is nil for a
// creation.
func Transitions(old, now *unstructured.Unstructured) ([]ownership.Transition, error) {
	var before ownership.Owners
	if old != nil {
		before = ownership.Compact(old.GetManagedFields())
	}
	values := func() (*unstructured.Unstructured, *unstructured.Unstructured, error) {
		return old, now, nil
	}
	return ownership.BetweenObjects(before, ownership.Compact(now.GetManagedFields()), values)
}
