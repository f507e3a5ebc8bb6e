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
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Revision  int    `json:"revision"`
}

// StoredVersions are versions that a CRD deprecates or no longer serves, at which objects may still
// be stored.
type StoredVersions struct {
	Definition string   `json:"definition"`
	Versions   []string `json:"versions"`
	Storage    string   `json:"storage"`
	Why        string   `json:"message"`
	Next       []string `json:"next"`
}

// Lines returns Why and Next.
func (s StoredVersions) Lines() []string { return append([]string{s.Why}, s.Next...) }

func (Deprecations) event() {}
