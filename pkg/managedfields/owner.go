package managedfields

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// These are the operations that managed fields record.
const (
	Apply  = "Apply"
	Update = "Update"
)

// BeforeFirstApply is the manager to which the API server attributes all fields of an object that
// has no managed fields when it is first applied.
const BeforeFirstApply = "before-first-apply"

// Owner is one entry of metadata.managedFields. Entries of one manager with different operations or
// subresources are different owners (KEP-555).
type Owner struct {
	// Manager is the name of the field manager.
	Manager string `json:"manager"`
	// Operation is Apply or Update.
	Operation string `json:"operation"`
	// Subresource is the subresource through which the owner writes, such as scale; empty for the main
	// resource.
	Subresource string `json:"subresource,omitempty"`
	// APIVersion is the version of the owner's paths. Paths at different versions are not
	// comparable.
	APIVersion string `json:"apiVersion,omitempty"`
	// Time is the time at which the owner last changed its fields. It is not set if the entry has no
	// time, as for the horizontal pod autoscaler, which writes through /scale.
	Time time.Time `json:"time,omitzero"`
}

// String returns the manager with its subresource or, without one, its operation.
func (o Owner) String() string {
	return o.Manager + " (" + cmp.Or(o.Subresource, o.Operation) + ")"
}

// Is reports whether the owner is a manager's entry from applying the main resource.
func (o Owner) Is(manager string) bool {
	return o.Manager == manager && o.Operation == Apply && o.Subresource == ""
}

// Compare orders owners by manager, operation, subresource, version and time.
func (o Owner) Compare(other Owner) int {
	return cmp.Or(
		cmp.Compare(o.Manager, other.Manager),
		cmp.Compare(o.Operation, other.Operation),
		cmp.Compare(o.Subresource, other.Subresource),
		cmp.Compare(o.APIVersion, other.APIVersion),
		o.Time.Compare(other.Time),
	)
}

// SameEntry reports whether o and other are the same entry in two versions of an object. To the API
// server, an applier at another API version is the same owner, but an updater is a different one.
func (o Owner) SameEntry(other Owner) bool {
	return o.Manager == other.Manager && o.Operation == other.Operation && o.Subresource == other.Subresource &&
		(o.Operation == Apply || o.APIVersion == other.APIVersion)
}

// Equal reports whether o and other are the same owner, regardless of times.
func (o Owner) Equal(other Owner) bool {
	return o.Manager == other.Manager && o.Operation == other.Operation &&
		o.Subresource == other.Subresource && o.APIVersion == other.APIVersion
}

// Entry is an owner with the fields that it owns.
type Entry struct {
	Owner
	Fields *fieldpath.Set
	// WriteOnly is the part of Fields that the server records under stringData. The server neither
	// protects nor removes these fields. It is nil if there is no such part.
	WriteOnly *fieldpath.Set
}

// Giver is the field manager under which the verb give writes managed fields. It owns nothing. Its
// name tells the webhook that a user requested the transfer.
const Giver = "k8sconnect-give"

// ClientSideApply is the field manager of kubectl's client-side apply.
const ClientSideApply = "kubectl-client-side-apply"

// IsPerson reports whether a manager, such as kubectl-edit, kubectl-set or kubectl-patch,
// represents a person using kubectl. The fields of such a manager are hotfixes, which a tool should
// not adopt.
func IsPerson(manager string) bool {
	return strings.HasPrefix(manager, "kubectl-") && manager != ClientSideApply
}

// IsControlPlane reports whether a manager is a component of Kubernetes. Its fields record its work,
// such as the volume of a claim, so other managers should not own or remove them.
func IsControlPlane(manager string) bool {
	switch manager {
	case "kube-apiserver", "kube-controller-manager", "kube-scheduler", "cloud-controller-manager", "kubelet":
		return true
	}
	return false
}

// IsBookkeeper reports whether a manager is one that kubectl-k8sconnect or its webhook uses for its own
// records, and not for what a user applies.
func IsBookkeeper(manager string) bool {
	switch manager {
	case "k8sconnect-applyset", "k8sconnect-lock",
		"k8sconnect-tracker", "k8sconnect-webhook", "k8sconnect-webhook-calls", "k8sconnect-webhook-certificates":
		return true
	}
	return false
}

// LastAppliedAnnotation holds the configuration that client-side apply last applied.
const LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// LastApplied returns the value of the last-applied annotation, or "".
func LastApplied(object map[string]any) string {
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	text, _ := annotations[LastAppliedAnnotation].(string)
	return text
}

// LastAppliedPath returns the path of the last-applied annotation.
func LastAppliedPath() fieldpath.Path {
	return fieldpath.Field("metadata", "annotations", LastAppliedAnnotation)
}

// IsLastApplied reports whether a path is that of the last-applied annotation.
func IsLastApplied(p fieldpath.Path) bool { return p.Equal(LastAppliedPath()) }

// Newest returns the newest API version among the entries for which the given function returns
// true, or "" if there are none.
func Newest(entries []Entry, of func(Entry) bool) (apiVersion string) {
	versionOf := func(apiVersion string) string { return apiVersion[strings.LastIndexByte(apiVersion, '/')+1:] }
	for _, e := range entries {
		if of(e) && (apiVersion == "" || version.CompareKubeAwareVersionStrings(versionOf(e.APIVersion), versionOf(apiVersion)) > 0) {
			apiVersion = e.APIVersion
		}
	}
	return apiVersion
}
