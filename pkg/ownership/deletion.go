package ownership

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// DeletionLabel is the label of the records that contain deletions.
const DeletionLabel = "k8sconnect.io/deletions"

const (
	// DeletionParts is the number of records over which the deletions of a namespace are spread.
	DeletionParts = 8
	// maxDeletions limits the deletions in one record.
	maxDeletions = 256
	// keepDeletions is how long a deletion is kept.
	keepDeletions = 7 * 24 * time.Hour
	maxLastOwners = 8
)

// DeletionCause says on whose behalf an object was deleted.
type DeletionCause string

const (
	// ByUser means that a client asked for it. The record has the user, unless several asked.
	ByUser DeletionCause = "user"
	// ByController means that a controller of Kubernetes asked for it.
	ByController DeletionCause = "controller"
	// ByOwner means that the object went because its owner did (garbage collection).
	ByOwner DeletionCause = "owner"
	// ByNamespace means that the object went with its namespace.
	ByNamespace DeletionCause = "namespace"
	// ByUnknown means that the webhook was not asked, and nothing else proves the cause.
	ByUnknown DeletionCause = "unknown"
)

// Deletion is the deletion of one object.
type Deletion struct {
	Object Object `json:"object"`
	// Asked is when the API server asked the webhook; it is zero if it did not. Gone is when the
	// webhook saw that the object was gone. If it is zero, the object may still exist: finalizers
	// keep it, or a grace period.
	Asked metav1.Time `json:"asked,omitzero"`
	Gone  metav1.Time `json:"gone,omitzero"`
	// Version is the resourceVersion at which a watch showed it as going or gone. Times are in whole seconds.
	Version string        `json:"version,omitempty"`
	By      DeletionCause `json:"by"`
	User    string        `json:"user,omitempty"`
	// Several means that several users asked at the same time, so that User is empty.
	Several bool `json:"several,omitempty"`
	// Via is the owner or the namespace that went. If the cause is unknown, it is an owner that the object had.
	Via Reference `json:"via,omitzero"`
	// Owners are the last owners of the object's fields.
	Owners []Holder `json:"owners,omitempty"`
	// Gap means that the object went while the webhook was not watching, so Gone is only the time at
	// which it was found missing.
	Gap bool `json:"gap,omitempty"`
}

// Reference names an object in the same namespace, or a cluster-scoped one.
type Reference struct {
	Kind string    `json:"kind"`
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
}

// Time returns the latest known time of a deletion.
func (d Deletion) Time() time.Time {
	if !d.Gone.IsZero() {
		return d.Gone.Time
	}
	return d.Asked.Time
}

// DeletionHint is what admission knows about a deletion. The deletion may still be refused, or wait
// for finalizers.
type DeletionHint struct {
	UID  types.UID
	User string
	Time time.Time
}

// controllers are the ServiceAccounts of kube-controller-manager
// (k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy). Other programs in kube-system may delete
// on behalf of people, such as an Argo CD that is installed there.
const controllers = `
	attachdetach-controller bootstrap-signer certificate-controller cloud-node-controller clusterrole-aggregation-controller
	cronjob-controller daemon-set-controller deployment-controller device-taint-eviction-controller disruption-controller
	endpoint-controller endpointslice-controller endpointslicemirroring-controller ephemeral-volume-controller
	expand-controller horizontal-pod-autoscaler job-controller legacy-service-account-token-cleaner node-controller
	node-lifecycle-controller persistent-volume-binder pod-garbage-collector podcertificaterequestcleaner pv-protection-controller
	pvc-protection-controller replicaset-controller replication-controller resource-claim-controller resourcequota-controller
	root-ca-cert-publisher route-controller selinux-warning-controller service-account-controller service-cidrs-controller
	service-controller statefulset-controller storage-version-garbage-collector storage-version-migrator-controller
	token-cleaner ttl-after-finished-controller ttl-controller validatingadmissionpolicy-status-controller
	volumeattributesclass-protection-controller`

// CauseOf returns the cause that a user's name proves.
func CauseOf(user string) DeletionCause {
	switch user {
	case "":
		return ByUnknown
	// The API server frees IPAddresses and removes its own Leases. The scheduler preempts Pods.
	case "system:apiserver", "system:kube-scheduler", "system:kube-controller-manager", "system:cloud-controller-manager":
		return ByController
	}
	if strings.HasPrefix(user, "system:node:") {
		return ByController
	}
	switch name, inKubeSystem := strings.CutPrefix(user, "system:serviceaccount:kube-system:"); {
	case !inKubeSystem:
	case name == "generic-garbage-collector":
		return ByOwner
	case name == "namespace-controller":
		return ByNamespace
	case slices.Contains(strings.Fields(controllers), name):
		return ByController
	}
	return ByUser
}

// LastOwners returns the owners to record with a deletion.
func LastOwners(fields []metav1.ManagedFieldsEntry) []Holder {
	var out []Holder
	for _, f := range fields {
		h := Holder{Manager: text.Truncate(f.Manager, maxManager), Operation: string(f.Operation), Subresource: text.Truncate(f.Subresource, maxSubresource)}
		if f.Subresource == "status" || f.Operation == "" || slices.Contains(out, h) {
			continue
		}
		if out = append(out, h); len(out) == maxLastOwners {
			break
		}
	}
	return out
}

// NewDeletionRecord returns the empty record for the deletion of an object. It is in the object's
// namespace, so that the same users can read it, or, for cluster-scoped objects and for those of
// namespaces that are going, in the given one. It has no owner and outlives the object.
func NewDeletionRecord(o Object, own string, going bool) *Record {
	namespace := o.Namespace
	if namespace == "" || going {
		namespace = own
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(o.UID)) // It never fails.
	name := fmt.Sprintf("deletions-%d", h.Sum32()%DeletionParts)
	gvk := RecordGVK()
	return &Record{
		TypeMeta:   metav1.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{DeletionLabel: "true"}},
		Object:     Object{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: types.UID(name)},
	}
}

// AddDeletion adds a deletion, or what it newly says about one that the record already has. It
// reports whether the record has changed. Deletions older than a week are removed, except those of
// objects that may still exist. If the record is full, it drops and counts the oldest deletion that
// no user asked for, or else the oldest one.
func (r *Record) AddDeletion(d Deletion, now time.Time) bool {
	d.User, d.Object.Name = text.Truncate(d.User, maxUser), text.Truncate(d.Object.Name, maxName)
	changed := r.expireDeletions(now)
	at := slices.IndexFunc(r.Deletions, func(o Deletion) bool { return o.Object.UID == d.Object.UID })
	if at < 0 {
		if !d.Gone.IsZero() && now.Sub(d.Gone.Time) > keepDeletions {
			return changed
		}
		r.Deletions, changed = append(r.Deletions, d), true
	} else if merged, news := r.Deletions[at].and(d); news {
		r.Deletions[at], changed = merged, true
	}
	slices.SortStableFunc(r.Deletions, func(a, b Deletion) int { return a.Time().Compare(b.Time()) })
	for len(r.Deletions) > maxDeletions {
		at := max(0, slices.IndexFunc(r.Deletions, func(d Deletion) bool { return d.By != ByUser && !d.Gone.IsZero() }))
		r.DeletionsDropped++
		if out := r.Deletions[at].Time(); out.After(r.DroppedUntil.Time) {
			r.DroppedUntil = metav1.NewTime(out)
		}
		r.Deletions = slices.Delete(r.Deletions, at, at+1)
	}
	return changed
}

// LoseDeletions counts deletions that could not be recorded.
func (r *Record) LoseDeletions(n int, until time.Time) {
	r.DeletionsDropped += n
	if until.After(r.DroppedUntil.Time) {
		r.DroppedUntil = metav1.NewTime(until)
	}
}

func (r *Record) expireDeletions(now time.Time) bool {
	before := len(r.Deletions)
	r.Deletions = slices.DeleteFunc(r.Deletions, func(d Deletion) bool {
		return !d.Gone.IsZero() && now.Sub(d.Gone.Time) > keepDeletions
	})
	if !r.DroppedUntil.IsZero() && now.Sub(r.DroppedUntil.Time) > keepDeletions {
		r.DeletionsDropped, r.DroppedUntil = 0, metav1.Time{}
	}
	return len(r.Deletions) < before
}

// and returns a deletion with what another report of it adds.
func (d Deletion) and(o Deletion) (merged Deletion, news bool) {
	merged = d
	switch {
	case d.Several || o.User == "" || o.User == d.User:
		merged.Several = d.Several || o.Several
	case d.User == "":
		merged.User, merged.By, merged.Via = o.User, o.By, o.Via
	default:
		merged.Several = true
	}
	if merged.Several {
		merged.User, merged.By = "", ByUser
	}
	if d.Asked.IsZero() || !o.Asked.IsZero() && o.Asked.Before(&d.Asked) {
		merged.Asked = o.Asked
	}
	if d.Gone.IsZero() {
		merged.Gone, merged.Gap, merged.Version = o.Gone, o.Gap, o.Version
	}
	if d.By == ByUnknown && merged.By == ByUnknown {
		merged.By, merged.Via = o.By, cmp.Or(o.Via, d.Via)
	}
	merged.Owners = d.Owners
	if len(d.Owners) == 0 {
		merged.Owners = o.Owners
	}
	merged.By = cmp.Or(merged.By, ByUnknown)
	news = merged.Several != d.Several || merged.User != d.User || merged.By != d.By || !merged.Asked.Equal(&d.Asked) ||
		!merged.Gone.Equal(&d.Gone) || len(merged.Owners) != len(d.Owners)
	return merged, news
}
