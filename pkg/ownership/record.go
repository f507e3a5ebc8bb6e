package ownership

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// What a record is called in the cluster; owr is its short name.
const (
	RecordGroup   = "ownership.k8sconnect.io"
	RecordVersion = "v1alpha1"
	RecordKind    = "OwnershipRecord"
	RecordPlural  = "ownershiprecords"
)

const (
	// maxEntries is how many entries a record keeps; the newest remain.
	maxEntries = 64
	// maxSeen is how many of its last versions an entry remembers, to tell a
	// transition that two writers report from one that happened twice.
	maxSeen = 8
	// maxPath is how many bytes of a path are kept: the keys of a map may be of any
	// length.
	maxPath = 512
)

// Record is the OwnershipRecord of one object: who took which path from whom. It
// never holds a value of a field.
type Record struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Object is whose owners the record is about.
	Object Object `json:"object"`
	// Entries, by when each last happened.
	Entries []Entry `json:"transitions,omitempty"`
	// Dropped is how many older entries had no room.
	Dropped int `json:"dropped,omitempty"`
}

// Object names the object of a record.
type Object struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
}

// Entry is one transition, or one path going back and forth between the same
// owners.
type Entry struct {
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	// From and To are the owners before and after it last happened.
	From []Holder `json:"from"`
	To   []Holder `json:"to"`
	// Forced is set if it was by force when it last happened.
	Forced bool `json:"forced,omitempty"`
	// Gap is set if it happened while nobody watched: it is what changed in all,
	// and the way there is not known.
	Gap bool `json:"gap,omitempty"`
	// User is who sent the request, where that was seen. Unlike a manager's name,
	// the API server vouches for it.
	User string `json:"user,omitempty"`
	// Count is how often it happened, there and back each counted.
	Count int         `json:"count"`
	First metav1.Time `json:"first"`
	Last  metav1.Time `json:"last"`
	// ResourceVersions are those of the object after it happened, the last few,
	// in the order in which they were reported.
	ResourceVersions []string `json:"resourceVersions,omitempty"`
}

// Holder is an owner in a record.
type Holder struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	APIVersion  string `json:"apiVersion,omitempty"`
}

// Occasion is what is known of a transition apart from the two versions.
type Occasion struct {
	// ResourceVersion of the object after the transition.
	ResourceVersion string
	Time            time.Time
	// User who sent the request; empty where that is not known.
	User string
	// Gap: see [Entry].
	Gap bool
}

// RecordName returns what the record of an object is called. Another object of
// the same name has another record.
func RecordName(kind string, uid types.UID) string {
	return strings.ToLower(kind) + "-" + string(uid)
}

// RecordGVK is the kind of a record at the version of [Record].
func RecordGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: RecordGroup, Version: RecordVersion, Kind: RecordKind}
}

// Add notes a transition, and tells whether the record is another one for it. It
// is not where the transition is not [Transition.Notable], or was noted before:
// the same path at the same resource version is the same transition.
func (r *Record) Add(t Transition, at Occasion) bool {
	if !t.Notable() {
		return false
	}
	e := Entry{
		Path: pathText(t.Path), Kind: t.Kind, From: holders(t.Before), To: holders(t.After),
		Forced: t.Forced, Gap: at.Gap, User: at.User,
		First: metav1.NewTime(at.Time), Last: metav1.NewTime(at.Time), Count: 1,
		ResourceVersions: []string{at.ResourceVersion},
	}
	for i := range r.Entries {
		if old := &r.Entries[i]; old.Path == e.Path && slices.Contains(old.ResourceVersions, at.ResourceVersion) {
			return false
		}
	}
	if i := slices.IndexFunc(r.Entries, e.sameParties); i >= 0 {
		e.follow(r.Entries[i])
		r.Entries = slices.Delete(r.Entries, i, i+1)
	}
	// The entry goes behind all that did not happen after it.
	i := len(r.Entries)
	for i > 0 && e.Last.Before(&r.Entries[i-1].Last) {
		i--
	}
	r.Entries = slices.Insert(r.Entries, i, e)
	if excess := len(r.Entries) - maxEntries; excess > 0 {
		r.Entries = slices.Delete(r.Entries, 0, excess)
		r.Dropped += excess
	}
	return true
}

// sameParties tells whether two entries are of one path and between the same
// owners, in whichever direction.
func (e Entry) sameParties(other Entry) bool {
	if e.Path != other.Path || e.Kind != other.Kind {
		return false
	}
	return slices.Equal(e.From, other.From) && slices.Equal(e.To, other.To) ||
		slices.Equal(e.From, other.To) && slices.Equal(e.To, other.From)
}

// follow makes the entry the next occurrence of an earlier one; of two that were
// reported in the wrong order, the later says how it last happened.
func (e *Entry) follow(earlier Entry) {
	seen := slices.Concat(earlier.ResourceVersions, e.ResourceVersions)
	count, first := earlier.Count+e.Count, earlier.First
	if e.First.Before(&first) {
		first = e.First
	}
	if e.Last.Before(&earlier.Last) {
		*e = earlier
	}
	e.Count, e.First = count, first
	e.ResourceVersions = seen[max(0, len(seen)-maxSeen):]
}

func pathText(p managedfields.Path) string {
	text := p.String()
	if len(text) <= maxPath {
		return text
	}
	return strings.ToValidUTF8(text[:maxPath], "") + "…"
}

func holders(owners []managedfields.Owner) []Holder {
	out := make([]Holder, len(owners))
	for i, o := range owners {
		out[i] = Holder{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource, APIVersion: o.APIVersion}
	}
	return out
}
