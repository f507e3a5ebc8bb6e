package exclusive

import (
	"path"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Stays reports whether a field is the cluster's record, and not configuration: it stays in the object
// whoever wrote it.
func Stays(p fieldpath.Path) bool {
	switch name := p[0].FieldName; {
	case name == nil:
		return false
	case *name == "status":
		return true
	case *name == "metadata" && len(p) > 1 && p[1].FieldName != nil:
		// A controller waits for a finalizer, and the garbage collector follows owner references.
		// https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/
		// https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
		if slices.Contains([]string{"finalizers", "ownerReferences", "managedFields"}, *p[1].FieldName) {
			return true
		}
	}
	last := p[len(p)-1].FieldName
	return last != nil && isLabel(p) && slices.Contains(records(), *last) || p.Equal(restarted())
}

// restarted is where kubectl rollout restart writes into a Pod template: the removal restarts all Pods.
func restarted() fieldpath.Path {
	return fieldpath.Field("spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
}

// records lists the annotations and labels in which Kubernetes' own programs record what they did.
// https://kubernetes.io/docs/reference/labels-annotations-taints/
func records() []string {
	return []string{
		managedfields.LastAppliedAnnotation,
		"deployment.kubernetes.io/revision",
		// The server counts the changes of a DaemonSet's template.
		"deprecated.daemonset.template.generation",
		"kubernetes.io/change-cause",
		// The server sets this label of each Namespace.
		"kubernetes.io/metadata.name",
	}
}

// Counts reports whether fields of an owner can be additions. Fields of Kubernetes' own components are
// not, nor are those of before-first-apply, which also contain allocated values.
func Counts(o managedfields.Owner) bool {
	return !managedfields.IsControlPlane(o.Manager) && o.Manager != managedfields.BeforeFirstApply
}

// IsClient reports whether a manager is a person or a client that people and pipelines run. Controllers
// are not clients; for an unknown manager, IsClient returns false.
func IsClient(manager string) bool {
	if managedfields.IsPerson(manager) {
		return true
	}
	return slices.ContainsFunc(clients(), func(pattern string) bool {
		match, err := path.Match(pattern, manager)
		return err == nil && match
	})
}

// clients lists the default field managers of such clients. The default is the program's name, or the
// start of its User-Agent up to the first slash.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers
func clients() []string {
	return []string{
		"kubectl", managedfields.ClientSideApply, "k8sconnect",
		"helm",                   // Flux's helm-controller has its own name.
		"Terraform", "HashiCorp", // HashiCorp/1.0 Terraform/VERSION
		"pulumi-*", // pulumi-kubernetes-HASH
		"k9s",
		"Mozilla", // The consoles forward the browser's User-Agent.
		"curl",
	}
}
