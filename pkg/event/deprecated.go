package event

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Deprecations lists the uses of deprecated API versions and fields before an upgrade. It is the
// result of the verb deprecated.
type Deprecations struct {
	// Release is the release to upgrade to. Server is the server's release; empty if there is no
	// server.
	Release, Server string
	Namespace       string
	// Uses begins with the uses of APIs that the release removes; the other uses follow.
	Uses []DeprecatedUse
	// Left counts managed-fields entries at deprecated versions that their managers no longer
	// write. Hint says how to rewrite the entries.
	Left   int
	Hint   string
	Stored []StoredVersions
	Unread []Unread
}

// DeprecatedUse is a deprecated version or field in one object.
type DeprecatedUse struct {
	Ref object.Ref
	// Path is empty if the whole version is deprecated.
	Path string
	// Text is the sentence that the webhook's warning also contains.
	Text string
	// Goes means that the release removes the version or field.
	Goes bool
	// Since and Removed are releases. Use is the replacement. Each may be empty.
	Since, Removed string
	Use            schema.GroupVersionKind
	// Writers are the owners that still write the version or field. Sources are places in
	// manifests.
	Writers  []managedfields.Owner
	Sources  []object.Source
	Releases []HelmRevision
}

// HelmRevision is the deployed revision of a Helm release.
type HelmRevision struct {
	// Namespace is the namespace of the release.
	Namespace string `json:"namespace"`
	// Name is the name of the release.
	Name string `json:"name"`
	// Revision is the number of the deployed revision.
	Revision int `json:"revision"`
}

// StoredVersions are versions that a CRD deprecates or no longer serves, at which objects may still
// be stored.
type StoredVersions struct {
	// Definition is the name of the CRD.
	Definition string `json:"definition"`
	// Versions lists the versions.
	Versions []string `json:"versions"`
	// Storage is the version in which the API server stores objects now.
	Storage string `json:"storage"`
	// Why is the problem in one sentence, for people.
	Why string `json:"message"`
	// Next lists the commands that migrate the objects.
	Next []string `json:"next"`
}

// Lines returns Why and Next.
func (s StoredVersions) Lines() []string { return append([]string{s.Why}, s.Next...) }

func (Deprecations) event() {}
