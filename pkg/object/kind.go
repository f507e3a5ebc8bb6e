package object

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Kind describes a kind, by the cluster or by a CRD of the same set.
type Kind struct {
	GVK schema.GroupVersionKind
	// Resource is the plural by which the API server serves the kind; empty while only a CRD that
	// is not applied yet declares it.
	Resource string
	// ShortNames are abbreviations of the resource, such as "deploy".
	ShortNames []string
	Namespaced bool
	// Verbs that the server offers for the resource, such as "list" or "patch".
	Verbs []string
}

// Kept reports whether the API server stores objects of the kind. It answers reviews without
// storing them.
func (k Kind) Kept() bool {
	return len(k.Verbs) == 0 || slices.Contains(k.Verbs, "get") || slices.Contains(k.Verbs, "list")
}

// GVR returns the resource under which objects of the kind are addressed.
func (k Kind) GVR() schema.GroupVersionResource {
	return k.GVK.GroupVersion().WithResource(k.Resource)
}

// Write holds the options of one server-side apply.
type Write struct {
	// Manager is the field manager, at most 128 characters.
	Manager string
	// Force makes the manager the owner of every path in conflict.
	Force bool
	// Create refuses, with a conflict, to apply to an existing object. If an earlier try of the
	// same write may have created it, the error says MayBeWritten.
	Create bool
	// DryRun asks what would happen, and persists nothing.
	DryRun bool
	// Validation is the server's field validation: Strict, Warn or Ignore.
	// Empty means Strict.
	Validation string
}

// IsReserved reports whether a group is reserved for Kubernetes. Kinds in such groups change with
// the server's version, or with CRDs that are installed once and stay.
func IsReserved(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// IsBuiltIn reports whether a group is one of Kubernetes' own: it has no dot, which a custom
// resource's group always has, or it is one of those with a dot in Kubernetes 1.36. A kind of such
// a group that the server does not serve never will be: no CRD and no operator can add it.
func IsBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || slices.Contains([]string{
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
		"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io",
		"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
		"scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
	}, group)
}

// Deletion holds the options of one deletion.
type Deletion struct {
	// UID identifies the object: another one with its name is left alone. Empty means any object of
	// that name.
	UID types.UID
	// ResourceVersion is that of the object as read: one that has changed since is left alone.
	// Empty means any.
	ResourceVersion string
	// Propagation decides about the object's dependents. Empty leaves it to the server.
	Propagation metav1.DeletionPropagation
	// GracePeriod is in seconds; nil means the object's own.
	GracePeriod *int64
	// DryRun asks what would happen, and deletes nothing.
	DryRun bool
}

// DryRun is how much of a run is simulated.
type DryRun string

const (
	// DryRunNone writes.
	DryRunNone DryRun = ""
	// DryRunServer asks the server what would happen, and writes nothing.
	DryRunServer DryRun = "server"
	// DryRunClient only reads.
	DryRunClient DryRun = "client"
)
