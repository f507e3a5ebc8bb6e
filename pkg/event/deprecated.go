package event

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Deprecations is what still uses deprecated API versions and fields before an upgrade: the
// result of deprecated.
type Deprecations struct {
	// Release is the one to upgrade to, Server the present one; Server is empty if no server
	// was asked.
	Release, Server string
	// Namespace is the only one whose live objects were looked at; empty for all, or for none.
	Namespace string
	// Uses are sorted: those of what the release no longer has come first.
	Uses []DeprecatedUse
	// Left counts entries of managed fields at such versions that their managers no longer write,
	// and Hint says what rewrites them.
	Left int
	Hint string
	// Stored are definitions that may have objects stored at such versions.
	Stored []StoredVersions
	// Unread is what could not be looked at.
	Unread []Unread
}

// DeprecatedUse is one deprecated version or field of one object, and where it is used.
type DeprecatedUse struct {
	// Ref has the version that is used.
	Ref object.Ref
	// Path is the deprecated field; empty if the version is deprecated.
	Path string
	// Text is the sentence of the webhook's warning.
	Text string
	// Goes: the release no longer has it.
	Goes bool
	// Since and Removed are releases, empty if unknown. Use is the advised version, empty for
	// none and for fields.
	Since, Removed string
	Use            schema.GroupVersionKind
	// Writers are the managers that write it still, Sources the places of manifests, Releases
	// those of Helm.
	Writers  []managedfields.Owner
	Sources  []object.Source
	Releases []HelmRevision
}

// HelmRevision is the revision of a release that is deployed.
type HelmRevision struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Revision  int    `json:"revision"`
}

// StoredVersions are versions at which objects of a definition may still be stored, although it
// deprecates or does not serve them.
type StoredVersions struct {
	Definition string   `json:"definition"`
	Versions   []string `json:"versions"`
	// Storage is the version at which objects are written now.
	Storage string `json:"storage"`
	// Why says what they are in the way of, Next what to do.
	Why  string   `json:"message"`
	Next []string `json:"next"`
}

// Lines are Why and Next.
func (s StoredVersions) Lines() []string { return append([]string{s.Why}, s.Next...) }

func (Deprecations) event() {}
