package unready

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/status"
)

// Complains reports whether an object itself says that something is wrong: then the
// causes are worth a look at once. It is a hint and no verdict; much that is wrong is not
// said in the object. What is wrong is what readiness calls so.
func Complains(u *unstructured.Unstructured) bool {
	if slices.ContainsFunc(status.Read(u.Object), status.Statement.Complains) {
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
