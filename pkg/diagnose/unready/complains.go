package unready

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
)

// Complains reports whether an object itself says that something is wrong, so that its
// causes are worth finding at once. It is a hint, not a verdict: much can be wrong without
// the object saying so. Package readiness decides what counts as wrong.
func Complains(u *unstructured.Unstructured) bool {
	if slices.ContainsFunc(readiness.Read(u.Object), readiness.Statement.Complains) {
		return true
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, s := range diagnose.Items(u, "status", list) {
			reason, _, _ := unstructured.NestedString(s, "state", "waiting", "reason")
			if reason != "" && reason != "ContainerCreating" && reason != "PodInitializing" {
				return true
			}
		}
	}
	return false
}
