package event

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Releases forecasts the next upgrade of each Helm release. It is the result of the verb releases.
type Releases struct {
	Found     []Release
	Namespace string
	// Unread lists the places of releases that could not be read.
	Unread []Unread
}

// UpgradeForecast is the expected result of a release's next upgrade.
type UpgradeForecast string

// These are the forecasts of an upgrade.
const (
	UpgradeReady   UpgradeForecast = "ready"
	UpgradeFails   UpgradeForecast = "fails"
	UpgradeUnknown UpgradeForecast = "unknown"
)

// Release forecasts the next upgrade of one Helm release.
type Release struct {
	Namespace, Name string
	// Driver is the storage of the release: secret or configmap. Twice means that a release of this name is
	// also in the other one.
	Driver string
	Twice  bool
	// Revision is the newest revision, and Status its status in Helm.
	Revision int
	Status   string
	// Manager is the field manager of the upgrade that is forecast, such as helm or helm-controller. Flux
	// means that Flux upgrades the release.
	Manager string
	Flux    bool
	// ServerSide means that the next upgrade uses server-side apply by default.
	ServerSide bool
	// Manifest names where the manifest of the next upgrade comes from.
	Manifest string
	Objects  int
	Forecast UpgradeForecast
	// Conflicts lists the fields at which an upgrade with server-side apply fails.
	Conflicts []ObjectConflicts
	// Overwrites lists the fields that a client-side upgrade, or one by Flux, overwrites without a conflict.
	Overwrites []ObjectConflicts
	// Removes lists the fields of other owners that a client-side upgrade removes, because the manifest before
	// the next one sets them. Yours is the value afterwards, such as a default; nil if there is none.
	Removes []ObjectConflicts
	// Refused is the reason why Helm refuses every upgrade; nil if there is none.
	Refused error
	// Refusals lists the objects that Helm or the API server refuses for another reason than a conflict.
	Refusals []Unread
	// RefusalsServerSide lists the objects that the API server refuses only if a client-side release is
	// upgraded with --server-side=true.
	RefusalsServerSide []Unread
	Unread             []Unread
	// Gone lists the objects that the upgrade creates again, and Deleted those that it deletes.
	Gone, Deleted []object.Ref
	// Autoscaled lists the objects whose replicas the upgrade sets, although an autoscaler sets them, too.
	Autoscaled []object.Ref
	// Foreign lists the objects that carry the marks of another release.
	Foreign []ForeignObject
	// Orphans lists the objects that only failed revisions contain, and Leftovers the fields that only such a
	// revision set.
	Orphans   []Orphan
	Leftovers []Leftover
	// Next lists commands that make a server-side upgrade succeed, what to remove from the chart, and the
	// commands that keep an object which another release has taken over.
	Next []string
}

// ObjectConflicts are the conflicts in one object. The values of Secrets are masked.
type ObjectConflicts struct {
	Ref       object.Ref
	Conflicts []managedfields.Conflict
}

// ForeignObject is an object that another release, tool or set claims.
type ForeignObject struct {
	Ref   object.Ref
	Owner string
	// Absent means that the owner does not exist any more.
	Absent bool
}

// Orphan is a live object of a release that no revision contains which succeeded.
type Orphan struct {
	Ref object.Ref
	// Revision is the last failed revision with the object.
	Revision int
	// Listed means that the next manifest contains it. Otherwise Helm neither updates nor deletes it.
	Listed bool
}

// Leftover are fields of an object that a failed revision set, and that the upgrade does not change.
type Leftover struct {
	Ref   object.Ref
	Paths []fieldpath.Path
	// Revision is the last failed revision that set them.
	Revision int
	// Listed means that the next manifest sets them to the same values.
	Listed bool
	// Stays means that a server-side upgrade does not remove them either.
	Stays bool
}

func (Releases) event() {}
