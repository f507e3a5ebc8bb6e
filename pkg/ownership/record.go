package ownership

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The names of a record in the API; owr is its short name.
const (
	RecordGroup   = "ownership.k8sconnect.io"
	RecordVersion = "v1alpha1"
	RecordKind    = "OwnershipRecord"
	RecordPlural  = "ownershiprecords"
)

const (
	// maxEntries is how many entries a record keeps, if they fit into maxBytes; the newest stay.
	maxEntries = 64
	// maxSeen is how many of its latest versions an entry remembers, to distinguish a transition
	// that two writers report from one that happened twice.
	maxSeen = 8
	// maxPath is how many bytes of a path are kept: keys of a map may have any length.
	maxPath = 512
	// maxUser is how many bytes of a user's name are kept.
	maxUser = 256
	// maxValue is how many bytes a value has that is kept.
	maxValue = 256
	// maxHolders is how many owners of a path are kept.
	maxHolders = 16
	// maxName is how many bytes of an object's name are kept. Names of RBAC's kinds may have any
	// length.
	maxName = 253
	// maxManager, maxSubresource and maxAPIVersion are how many bytes of an owner are kept. The API
	// server accepts longer ones than it writes itself; one that did not fit would keep the whole
	// record from being written.
	maxManager, maxSubresource, maxAPIVersion = 128, 253, 317
)

// Record is the OwnershipRecord of one object: which manager took which path from which.
// It holds values of a few paths, see [ValuesOf], and of no others.
type Record struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Object identifies the object of the record.
	Object Object `json:"object"`
	// Entries, sorted by when each last happened.
	Entries []Entry `json:"transitions,omitempty"`
	// LastFrom and LastTo name all owners before and after the latest transition.
	LastFrom string `json:"lastFrom,omitempty"`
	LastTo   string `json:"lastTo,omitempty"`
	// Dropped is how many older entries were dropped for lack of room.
	Dropped int `json:"dropped,omitempty"`
	// Lost is how many transitions are missing because they could not be written for so long that
	// there was no room for them.
	Lost int `json:"lost,omitempty"`
}

// Object names the object of a record.
type Object struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
}

// Entry is a transition, or a path going back and forth between the same owners.
type Entry struct {
	Path string `json:"path"`
	// Kind says how it last happened: taken, released, given, or lost if the values were not seen.
	Kind Kind `json:"kind"`
	// From and To are the owners before and after it last happened.
	From []Holder `json:"from"`
	To   []Holder `json:"to"`
	// Forced: an applier took it when it last happened, which needs force.
	Forced bool `json:"forced,omitempty"`
	// Gap: it, or one of those that Count counts, happened in a period that was not watched. It is
	// the net change, and the steps in between are unknown.
	Gap bool `json:"gap,omitempty"`
	// User sent the request, if known: as the API server reported it to the webhook, unlike a
	// manager's name, which any client chooses.
	User string `json:"user,omitempty"`
	// FromValue and ToValue are the values before and after it last happened, of the few paths of
	// which they are kept, and if they were seen.
	FromValue string `json:"fromValue,omitempty"`
	ToValue   string `json:"toValue,omitempty"`
	// Cut: there were more owners than From and To keep.
	Cut bool `json:"cut,omitempty"`
	// Count is how often the path changed hands between the two, in either direction and in any
	// way.
	Count int         `json:"count"`
	First metav1.Time `json:"first"`
	Last  metav1.Time `json:"last"`
	// ResourceVersions are the object's versions after the last few occurrences, in order: the last
	// one belongs to Last.
	ResourceVersions []string `json:"resourceVersions,omitempty"`
}

// Holder is an owner in a record.
type Holder struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	APIVersion  string `json:"apiVersion,omitempty"`
}

// Occasion is what is known of a transition besides the two versions.
type Occasion struct {
	// ResourceVersion is the object's after the transition.
	ResourceVersion string
	Time            time.Time
	// User sent the request; empty if unknown.
	User string
	// Gap: see [Entry].
	Gap bool
	// Noted: another process saw it, and may be about to record it.
	Noted bool
}
