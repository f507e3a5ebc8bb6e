package ownership

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// RecordGroup, RecordVersion, RecordKind and RecordPlural identify the record's kind in the API.
// Its short name is owr.
const (
	RecordGroup   = "ownership.k8sconnect.io"
	RecordVersion = "v1alpha1"
	RecordKind    = "OwnershipRecord"
	RecordPlural  = "ownershiprecords"
)

const (
	// maxEntries limits the number of entries in a record; the newest ones are kept.
	maxEntries = 64
	// An entry remembers its latest maxSeen versions. They show whether two reports concern the
	// same transition or two occurrences of it.
	maxSeen = 8
	// maxPath, maxUser, maxValue and maxName are in bytes. Map keys may have any length.
	maxPath    = 512
	maxUser    = 256
	maxValue   = 256
	maxHolders = 16
	// Names of RBAC objects may have any length.
	maxName = 253
	// These are limits of the CRD. The API server accepts longer values in managed fields, and one
	// such value would make the whole record invalid.
	maxManager, maxSubresource, maxAPIVersion = 128, 253, 317
)

// Record is the OwnershipRecord of one object. It says which manager took which path from which
// other manager. It keeps the values of only a few paths; see [ValuesOf].
type Record struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Object Object `json:"object"`
	// Entries are sorted by the time of the last occurrence.
	Entries []Entry `json:"transitions,omitempty"`
	// LastFrom and LastTo list all owners before and after the latest transition.
	LastFrom string `json:"lastFrom,omitempty"`
	LastTo   string `json:"lastTo,omitempty"`
	// Dropped counts the older entries that were dropped to save space.
	Dropped int `json:"dropped,omitempty"`
	// Lost counts the transitions that are missing because writing them failed for too long.
	Lost int `json:"lost,omitempty"`
	// Deletions lists deleted objects, with the latest last. A record has either these or entries.
	// DeletionsDropped counts those that did not fit or could not be written; the latest of them was
	// at DroppedUntil.
	Deletions        []Deletion  `json:"deletions,omitempty"`
	DeletionsDropped int         `json:"deletionsDropped,omitempty"`
	DroppedUntil     metav1.Time `json:"droppedUntil,omitzero"`
	// Rollouts lists the writes that changed the Pod template of the object, with the latest last.
	// They are in a record of their own.
	Rollouts []Rollout `json:"rollouts,omitempty"`
}

// Object identifies the object to which a record belongs.
type Object struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
}

// Entry is a transition of a path, or a series of transitions back and forth between the same
// owners.
type Entry struct {
	Path string `json:"path"`
	// Kind, From, To, Forced, FromValue and ToValue describe the last occurrence. Kind is [Lost] if
	// the values were not observed.
	Kind Kind     `json:"kind"`
	From []Holder `json:"from"`
	To   []Holder `json:"to"`
	// Forced means that an applier took the path, which requires force.
	Forced bool `json:"forced,omitempty"`
	// Gap means that at least one occurrence is the net change over a period that was not watched.
	// The steps within that period are unknown.
	Gap bool `json:"gap,omitempty"`
	// User is the user who sent the request; it is empty if unknown. The API server reports the
	// user to the webhook, whereas any client can choose its manager's name.
	User string `json:"user,omitempty"`
	// FromValue and ToValue are set if they were observed and may be kept.
	FromValue string `json:"fromValue,omitempty"`
	ToValue   string `json:"toValue,omitempty"`
	// Cut means that owners were omitted or truncated.
	Cut bool `json:"cut,omitempty"`
	// Count is the number of times that the path changed between these owners, in either direction.
	Count int         `json:"count"`
	First metav1.Time `json:"first"`
	Last  metav1.Time `json:"last"`
	// ResourceVersions are the object's versions after the most recent occurrences, in order.
	ResourceVersions []string `json:"resourceVersions,omitempty"`
}

// Holder is an owner in a record.
type Holder struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	APIVersion  string `json:"apiVersion,omitempty"`
}

// Occasion is the time, user and resource version of a transition.
type Occasion struct {
	// ResourceVersion is the version of the object after the transition.
	ResourceVersion string
	Time            time.Time
	User            string
	// Gap has the same meaning as in [Entry].
	Gap bool
	// Noted means that another process saw the transition and may be about to record it.
	Noted bool
	// Omitted counts the other transitions of the same write that exceed the record's limit. Excess
	// means that this transition is one of those; it is not recorded.
	Omitted int
	Excess  bool
}

// maxBytes limits the JSON size of a record's entries, to limit the load on etcd. It is large
// enough for maxEntries entries of normal length.
const maxBytes = 128 << 10

// surplus returns the number of oldest entries that do not fit. The newest entry always fits.
func (r *Record) surplus() int {
	size := 0
	for i, e := range slices.Backward(r.Entries) {
		size += e.size()
		if kept := len(r.Entries) - i; kept > maxEntries || kept > 1 && size > maxBytes {
			return i + 1
		}
	}
	return 0
}

// size returns an upper bound on the bytes of an entry as JSON.
func (e Entry) size() int {
	const (
		entry   = 360 // names of fields, punctuation, numbers, times
		holder  = 80
		version = 8
	)
	size := entry + quoted(e.Path) + quoted(e.User) + quoted(e.FromValue) + quoted(e.ToValue)
	for _, holders := range [][]Holder{e.From, e.To} {
		for _, h := range holders {
			size += holder + quoted(h.Manager) + quoted(h.Operation) + quoted(h.Subresource) + quoted(h.APIVersion)
		}
	}
	for _, v := range e.ResourceVersions {
		size += version + quoted(v)
	}
	return size
}

// quoted returns an upper bound on the bytes of a text as a JSON string.
func quoted(s string) int {
	size := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == '"', c == '\\', c == '<', c == '>', c == '&':
			size += 6 // \u1234
		case c >= 0x80:
			size += 2 // The line separators grow from three bytes to six.
		default:
			size++
		}
	}
	return size
}

const maxParties = 256

// summarize sets LastFrom and LastTo for kubectl's table, whose columns cannot display a list.
func (r *Record) summarize() {
	if len(r.Entries) == 0 {
		return
	}
	last := r.Entries[len(r.Entries)-1]
	r.LastFrom, r.LastTo = text.Truncate(names(OwnersOf(last.From)), maxParties), text.Truncate(names(OwnersOf(last.To)), maxParties)
}

func tooMuch(owners []managedfields.Owner) bool {
	return len(owners) > maxHolders || slices.ContainsFunc(owners, func(o managedfields.Owner) bool {
		return holderOf(o) != Holder{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource, APIVersion: o.APIVersion}
	})
}

func holderOf(o managedfields.Owner) Holder {
	return Holder{
		Manager: text.Truncate(o.Manager, maxManager), Operation: o.Operation,
		Subresource: text.Truncate(o.Subresource, maxSubresource), APIVersion: text.Truncate(o.APIVersion, maxAPIVersion),
	}
}

// HoldersOf converts all owners to holders without truncating them.
func HoldersOf(owners []managedfields.Owner) []Holder {
	out := make([]Holder, len(owners))
	for i, o := range owners {
		out[i] = Holder{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource, APIVersion: o.APIVersion}
	}
	return out
}

func holders(owners []managedfields.Owner) []Holder {
	owners = owners[:min(len(owners), maxHolders)]
	out := make([]Holder, len(owners))
	for i, o := range owners {
		out[i] = holderOf(o)
	}
	return out
}

// RecordList is the API server's response when records are listed.
type RecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Record `json:"items"`
}

// RecordGVK returns the group, version and kind of [Record].
func RecordGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: RecordGroup, Version: RecordVersion, Kind: RecordKind}
}

// AddToScheme registers the types of records.
func AddToScheme(s *runtime.Scheme) error {
	gvk := RecordGVK()
	s.AddKnownTypeWithName(gvk, &Record{})
	s.AddKnownTypeWithName(gvk.GroupVersion().WithKind(RecordKind+"List"), &RecordList{})
	metav1.AddToGroupVersion(s, gvk.GroupVersion())
	return nil
}

// NewRecord returns an empty record for an object. The object owns the record, so that both are
// deleted together. The record is in the object's namespace, or in the given one (clusterScoped) if
// the object has none.
func NewRecord(o Object, clusterScoped string) *Record {
	namespace := o.Namespace
	if namespace == "" {
		namespace = clusterScoped
	}
	gvk := RecordGVK()
	owner := metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}
	o.Name = text.Truncate(o.Name, maxName)
	return &Record{
		TypeMeta: metav1.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name: RecordName(o.Kind, o.UID), Namespace: namespace,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Object: o,
	}
}

// RecordName returns the name of an object's record. If the object is recreated, the new object has
// another record.
func RecordName(kind string, uid types.UID) string {
	return strings.ToLower(kind) + "-" + string(uid)
}

// DeepCopyInto copies the record to out.
func (r *Record) DeepCopyInto(out *Record) {
	*out = *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Entries = slices.Clone(r.Entries)
	for i := range out.Entries {
		e := &out.Entries[i]
		e.From, e.To = slices.Clone(e.From), slices.Clone(e.To)
		e.ResourceVersions = slices.Clone(e.ResourceVersions)
		r.Entries[i].First.DeepCopyInto(&e.First)
		r.Entries[i].Last.DeepCopyInto(&e.Last)
	}
	out.Rollouts = slices.Clone(r.Rollouts)
	for i := range out.Rollouts {
		r.Rollouts[i].Time.DeepCopyInto(&out.Rollouts[i].Time)
	}
	out.Deletions = slices.Clone(r.Deletions)
	for i := range out.Deletions {
		d := &out.Deletions[i]
		d.Owners = slices.Clone(d.Owners)
		r.Deletions[i].Asked.DeepCopyInto(&d.Asked)
		r.Deletions[i].Gone.DeepCopyInto(&d.Gone)
	}
}

// DeepCopy returns a copy.
func (r *Record) DeepCopy() *Record {
	if r == nil {
		return nil
	}
	out := new(Record)
	r.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements [runtime.Object].
func (r *Record) DeepCopyObject() runtime.Object {
	if r == nil {
		return nil
	}
	return r.DeepCopy()
}

// DeepCopyInto copies the list to out.
func (l *RecordList) DeepCopyInto(out *RecordList) {
	*out = *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = slices.Clone(l.Items)
	for i := range out.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
}

// DeepCopyObject implements [runtime.Object].
func (l *RecordList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	out := new(RecordList)
	l.DeepCopyInto(out)
	return out
}
