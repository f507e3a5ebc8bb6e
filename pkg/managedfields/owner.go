package managedfields

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// The operations by which an owner acquires a path.
const (
	Apply  = "Apply"
	Update = "Update"
)

// BeforeFirstApply is the manager to which the API server attributes everything in an object
// without managed fields at its first apply.
const BeforeFirstApply = "before-first-apply"

// Owner is the owner of paths of an object: one entry of metadata.managedFields. Two entries of one
// manager that differ in operation or subresource are two owners (KEP-555).
type Owner struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	// APIVersion is the version of the owner's paths. Paths of two versions cannot be compared.
	APIVersion string `json:"apiVersion,omitempty"`
	// Time is when the owner last changed its fields; zero if the entry has none, such as the
	// horizontal pod autoscaler's through /scale.
	Time time.Time `json:"time,omitzero"`
}

// String returns the manager with what distinguishes its entries: the subresource, or else the
// operation.
func (o Owner) String() string {
	return o.Manager + " (" + cmp.Or(o.Subresource, o.Operation) + ")"
}

// Is reports whether the owner is a manager's apply of the main resource. The manager's updates and
// subresources are owners of their own.
func (o Owner) Is(manager string) bool {
	return o.Manager == manager && o.Operation == Apply && o.Subresource == ""
}

// Compare orders owners by manager, operation, subresource and version.
func (o Owner) Compare(other Owner) int {
	return cmp.Or(
		cmp.Compare(o.Manager, other.Manager),
		cmp.Compare(o.Operation, other.Operation),
		cmp.Compare(o.Subresource, other.Subresource),
		cmp.Compare(o.APIVersion, other.APIVersion),
		o.Time.Compare(other.Time),
	)
}

// SameEntry reports whether both are one entry in two versions of an object. Like the API server,
// it takes an applier that moves to another version for the same owner, and an updater that does so
// for another.
func (o Owner) SameEntry(other Owner) bool {
	return o.Manager == other.Manager && o.Operation == other.Operation && o.Subresource == other.Subresource &&
		(o.Operation == Apply || o.APIVersion == other.APIVersion)
}

// Equal reports whether both are one owner, regardless of their times.
func (o Owner) Equal(other Owner) bool {
	return o.Manager == other.Manager && o.Operation == other.Operation &&
		o.Subresource == other.Subresource && o.APIVersion == other.APIVersion
}

// Entry is an owner with the paths that it holds.
type Entry struct {
	Owner
	Fields *fieldpath.Set
	// WriteOnly is the part of Fields that the server records under a write-only name, and
	// therefore neither protects nor removes; nil for nothing.
	WriteOnly *fieldpath.Set
}

// Giver is the manager under which the verb give sends managed fields. It owns nothing; by its
// name, the webhook distinguishes transfers that a user asked for from other edits of managed
// fields.
const Giver = "k8sconnect-give"

// ClientSideApply is the manager under which kubectl's client-side apply writes.
const ClientSideApply = "kubectl-client-side-apply"

// IsPerson reports whether a manager is a person with kubectl, such as kubectl-edit, kubectl-set
// and kubectl-patch, whose fields are hotfixes and no tool's set to adopt.
func IsPerson(manager string) bool {
	return strings.HasPrefix(manager, "kubectl-") && manager != ClientSideApply
}

// LastAppliedAnnotation holds what client-side apply last applied.
const LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// LastApplied returns the annotation with client-side apply's last configuration, or "".
func LastApplied(object map[string]any) string {
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	text, _ := annotations[LastAppliedAnnotation].(string)
	return text
}

// LastAppliedPath is the path of client-side apply's annotation.
func LastAppliedPath() fieldpath.Path {
	return fieldpath.Field("metadata", "annotations", LastAppliedAnnotation)
}

// IsLastApplied reports whether the path is that of client-side apply's annotation.
func IsLastApplied(p fieldpath.Path) bool { return p.Equal(LastAppliedPath()) }

// Newest returns the newest version of the entries for which of is true; empty if there are none.
func Newest(entries []Entry, of func(Entry) bool) (apiVersion string) {
	versionOf := func(apiVersion string) string { return apiVersion[strings.LastIndexByte(apiVersion, '/')+1:] }
	for _, e := range entries {
		if of(e) && (apiVersion == "" || version.CompareKubeAwareVersionStrings(versionOf(e.APIVersion), versionOf(apiVersion)) > 0) {
			apiVersion = e.APIVersion
		}
	}
	return apiVersion
}
