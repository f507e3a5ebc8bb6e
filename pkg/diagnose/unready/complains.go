package unready

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Complains reports whether an object itself says that something is wrong: then the
// causes are worth a look at once. It is a hint and no verdict; much that is wrong is not
// said in the object.
func Complains(u *unstructured.Unstructured) bool {
	for _, c := range object.Conditions(u) {
		if c.ObservedGeneration > 0 && c.ObservedGeneration < u.GetGeneration() {
			continue
		}
		bad := slices.Contains([]string{"Stalled", "Failed", "Degraded", "Error", "ReplicaFailure", "NonStructuralSchema"}, c.Type)
		switch {
		case bad && c.Status == "True":
			return true
		case bad, c.Status == "True":
		case saysWhatFailed(c.Reason):
			return true
		}
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

// saysWhatFailed reports whether a reason is one of something that went wrong, rather
// than of something that goes on.
func saysWhatFailed(reason string) bool {
	lower := strings.ToLower(reason)
	return slices.ContainsFunc([]string{
		"fail", "error", "invalid", "denied", "forbidden", "unauthorized", "exceeded", "notfound", "missing",
		"conflict", "unschedulable", "unavailableimage", "violat", "refused", "rejected",
	}, func(word string) bool { return strings.Contains(lower, word) })
}
