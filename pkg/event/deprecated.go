package event

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Deprecations lists what still uses deprecated API versions and fields before an upgrade: the
// result of the verb deprecated.
type Deprecations struct {
	// Release is the release to upgrade to. Server is the release of the server; empty without a
	// server.
	Release, Server string
	// Namespace is the only namespace whose live objects were read. It is empty if all were read,
	// or none.
	Namespace string
	// Uses lists the uses. Uses of APIs that the release removes come first.
	Uses []DeprecatedUse
	// Left counts managed-fields entries at deprecated versions whose managers no longer write
	// them. Hint says how to rewrite them.
	Left int
	Hint string
	// Stored lists CRDs that may have objects stored at deprecated versions.
	Stored []StoredVersions
	Unread []Unread
}

// DeprecatedUse is a deprecated version or field in one object, and who uses it.
type DeprecatedUse struct {
	Ref object.Ref
	// Path is the deprecated field; empty if the whole version is deprecated.
	Path string
	// Text is the text that the webhook's warning has, too.
	Text string
	// Goes means that the release removes the version or field.
	Goes bool
	// Since and Removed are releases; empty if unknown. Use is the replacement; empty for a field,
	// or if there is none.
	Since, Removed string
	Use            schema.GroupVersionKind
	// Writers are the managers that still write the version or field, Sources its places in
	// manifests, and Releases the Helm releases that contain it.
	Writers  []managedfields.Owner
	Sources  []object.Source
	Releases []HelmRevision
}

// HelmRevision is the deployed revision of a Helm release.
type HelmRevision struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Revision  int    `json:"revision"`
}

// StoredVersions are versions at which objects of a CRD may still be stored although the CRD
// deprecates or no longer serves them.
type StoredVersions struct {
	Definition string   `json:"definition"`
	Versions   []string `json:"versions"`
	// Storage is the version at which objects are stored now.
	Storage string   `json:"storage"`
	Why     string   `json:"message"`
	Next    []string `json:"next"`
}

// Lines returns Why and Next.
func (s StoredVersions) Lines() []string { return append([]string{s.Why}, s.Next...) }

func (Deprecations) event() {}
