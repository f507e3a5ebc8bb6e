package ownership

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// RecordList is the API server's answer to a list of records.
type RecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Record `json:"items"`
}

// RecordGVK is the kind of a record at the version of [Record].
func RecordGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: RecordGroup, Version: RecordVersion, Kind: RecordKind}
}

// AddToScheme makes records known to a client that works with Go types.
func AddToScheme(s *runtime.Scheme) error {
	gvk := RecordGVK()
	s.AddKnownTypeWithName(gvk, &Record{})
	s.AddKnownTypeWithName(gvk.GroupVersion().WithKind(RecordKind+"List"), &RecordList{})
	metav1.AddToGroupVersion(s, gvk.GroupVersion())
	return nil
}

// NewRecord returns the empty record of an object, which is garbage-collected with it. It is in the
// object's namespace, or in clusterScoped if the object has none.
func NewRecord(o Object, clusterScoped string) *Record {
	namespace := o.Namespace
	if namespace == "" {
		namespace = clusterScoped
	}
	gvk := RecordGVK()
	owner := metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}
	o.Name = fit(o.Name, maxName)
	return &Record{
		TypeMeta: metav1.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name: RecordName(o.Kind, o.UID), Namespace: namespace,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Object: o,
	}
}

// RecordName returns the name of an object's record. Another object of the same
// name has another record.
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

// DeepCopyObject makes a record a [runtime.Object].
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

// DeepCopyObject makes a list of records a [runtime.Object].
func (l *RecordList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	out := new(RecordList)
	l.DeepCopyInto(out)
	return out
}
