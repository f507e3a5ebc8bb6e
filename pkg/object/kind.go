package object

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Kind describes a kind as declared by the cluster, or by a CRD in the input.
type Kind struct {
	GVK schema.GroupVersionKind
	// Resource is empty if the kind is declared only by a CRD that has not been applied yet.
	Resource   string
	ShortNames []string
	Namespaced bool
	Verbs      []string
}

// Kept reports whether the API server stores objects of this kind.
func (k Kind) Kept() bool {
	return len(k.Verbs) == 0 || slices.Contains(k.Verbs, "get") || slices.Contains(k.Verbs, "list")
}

// GVR returns the resource of the kind.
func (k Kind) GVR() schema.GroupVersionResource {
	return k.GVK.GroupVersion().WithResource(k.Resource)
}

// Write contains the options of a write.
type Write struct {
	Manager string
	Force   bool
	// Create makes the write fail with a conflict if the object already exists. If an earlier
	// attempt may have created it, [MayBeWritten] returns true for the error.
	Create bool
	DryRun bool
	// Validation is Strict, Warn or Ignore; empty means Strict.
	Validation string
}

// IsReserved reports whether a group is reserved for Kubernetes. It may still be a group of CRDs, such
// as those of the Gateway API.
func IsReserved(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// IsBuiltIn reports whether a group is one of Kubernetes' own, to which no CRD can add kinds. The
// group of a custom resource always contains a dot. The list below contains the groups of
// Kubernetes 1.36 that have a dot.
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

// Deletion contains the options of a deletion.
type Deletion struct {
	// UID limits the deletion to the object with this UID. If it is empty, the UID does not matter.
	UID types.UID
	// ResourceVersion limits the deletion to this version of the object. If it is empty, the
	// version does not matter.
	ResourceVersion string
	Propagation     metav1.DeletionPropagation
	// GracePeriod is in seconds; nil means the object's own grace period.
	GracePeriod *int64
	DryRun      bool
}

// DryRun specifies how much of a run is simulated.
type DryRun string

// DryRunNone, DryRunServer and DryRunClient are the kinds of dry runs.
const (
	DryRunNone   DryRun = ""
	DryRunServer DryRun = "server"
	// DryRunClient only reads from the server.
	DryRunClient DryRun = "client"
)
