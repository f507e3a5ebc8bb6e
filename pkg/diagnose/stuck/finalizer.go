package stuck

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// finalizers finds out what should remove each finalizer of the object, and why that does
// not happen.
func (d *diagnosis) finalizers(u *unstructured.Unstructured) []finding {
	var found []finding
	for _, finalizer := range u.GetFinalizers() {
		refused := d.admission(u, finalizer)
		whose := d.whose(u, finalizer)
		if len(refused) > 0 { // Its controller is not waiting: its update is refused.
			whose = without(whose, rankSilent, rankWaiting)
		}
		found = append(append(found, refused...), whose...)
	}
	return found
}

func (d *diagnosis) whose(u *unstructured.Unstructured, finalizer string) []finding {
	switch finalizer {
	case "foregroundDeletion":
		return d.foreground(u)
	case "orphan":
		return d.orphan(u)
	case "kubernetes.io/pvc-protection":
		return d.claim(u, finalizer)
	case "kubernetes.io/pv-protection":
		return d.volume(u, finalizer)
	case "service.kubernetes.io/load-balancer-cleanup":
		return d.loadBalancer(u, finalizer)
	case "customresourcecleanup.apiextensions.k8s.io":
		return nil // The rules about definitions cover it.
	}
	if waits, ok := builtIn(finalizer); ok {
		return d.builtIn(u, finalizer, waits)
	}
	return d.custom(u, finalizer)
}

func without(findings []finding, ranks ...rank) []finding {
	var left []finding
	for _, f := range findings {
		drop := false
		for _, r := range ranks {
			drop = drop || f.rank == r
		}
		if !drop {
			left = append(left, f)
		}
	}
	return left
}
