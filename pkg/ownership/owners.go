package ownership

import (
	"fmt"
	"slices"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Owners stores the owners of one version of an object compactly: similar objects, such as the Pods
// of a Deployment, share their field sets. The zero value has no owners.
type Owners struct {
	entries []compact
}

type compact struct {
	owner  unique.Handle[managedfields.Owner] // without its time
	fields unique.Handle[string]
	time   int64 // seconds since 1970; 0 means none
}

// Compact converts managed fields without decoding their field sets. [Between] later decodes only
// the field sets that differ.
func Compact(fields []metav1.ManagedFieldsEntry) Owners {
	entries := make([]compact, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.Manager == "" && f.Operation == "" && f.FieldsV1 == nil { // A request to clear all managed fields has this form.
			continue
		}
		owner := managedfields.Owner{
			Manager: f.Manager, Operation: string(f.Operation),
			Subresource: f.Subresource, APIVersion: f.APIVersion,
		}
		text := ""
		if f.FieldsV1 != nil {
			text = f.FieldsV1.GetRawString()
		}
		c := compact{owner: unique.Make(owner), fields: unique.Make(text)}
		if f.Time != nil {
			c.time = f.Time.Unix()
		}
		entries = append(entries, c)
	}
	return Owners{entries: slices.Clip(entries)}
}

// Equal reports whether the same owners own the same paths, ignoring times. Field sets that are
// spelled differently count as different.
func (o Owners) Equal(other Owners) bool {
	return slices.EqualFunc(o.entries, other.entries, compact.equal)
}

// status is the subresource whose owners are not tracked, because controllers write the status all
// the time.
const status = "status"

// Tracked works like [Compact], but omits owners that wrote through the status subresource.
func Tracked(fields []metav1.ManagedFieldsEntry) Owners { return Compact(fields).without(status) }

func (o Owners) without(subresource string) Owners {
	by := func(c compact) bool { return c.owner.Value().Subresource == subresource }
	if !slices.ContainsFunc(o.entries, by) {
		return o
	}
	return Owners{entries: slices.Clip(slices.DeleteFunc(slices.Clone(o.entries), by))}
}

// Size returns the number of bytes that the owners take up if they share nothing.
func (o Owners) Size() int {
	size := 0
	for _, c := range o.entries {
		owner := c.owner.Value()
		size += entrySize + len(c.fields.Value()) + len(owner.Manager) + len(owner.Subresource) + len(owner.APIVersion)
	}
	return size
}

const entrySize = 200

// Between works like [BetweenObjects], but without values, for callers that know only metadata. A
// path that goes to another owner is [Lost], and a path left without owners is [Removed]. A path
// that an updater gains through a subresource is [Taken], because an updater gains such a path only
// by changing its value.
func Between(old, new Owners) ([]Transition, error) {
	return BetweenObjects(old, new, nil)
}

// Apart works like [Between], for two versions that may have unknown versions in between.
func Apart(old, new Owners) ([]Transition, error) {
	return between(old, new, true, nil)
}

// Values returns two versions of an object.
type Values func() (old, new *unstructured.Unstructured, err error)

// BetweenObjects returns, sorted by path, all paths whose owners changed between two versions of an
// object. If the object had no owners before, every path is [Claimed]. The transitions between all
// versions of an object, in order, lead to its current owners. BetweenObjects returns an error if
// managed fields cannot be decoded.
//
// It calls values at most once, and only if an owner lost a path; values may be nil.
func BetweenObjects(before, after Owners, values Values) ([]Transition, error) {
	return between(before, after, false, values)
}

func between(before, after Owners, apart bool, values Values) ([]Transition, error) {
	if before.Equal(after) {
		return nil, nil
	}
	sets := fieldSets{} // Most field sets are the same before and after.
	was, err := before.read(sets)
	if err != nil {
		return nil, fmt.Errorf("old version: %w", err)
	}
	is, err := after.read(sets)
	if err != nil {
		return nil, fmt.Errorf("new version: %w", err)
	}
	handovers := Handovers(was, is)
	var old, new *unstructured.Unstructured
	if values != nil && slices.ContainsFunc(handovers, isLoss) {
		if old, new, err = values(); err != nil {
			return nil, err
		}
	}
	return classifierOf(was, is, old, new, apart).transitions(handovers), nil
}

func isLoss(h Handover) bool { return len(without(h.Before, h.After)) > 0 }

// Entries decodes the field sets.
func (o Owners) Entries() ([]managedfields.Entry, error) { return o.read(fieldSets{}) }

type fieldSets map[unique.Handle[string]]*fieldpath.Set

func (o Owners) read(known fieldSets) ([]managedfields.Entry, error) {
	out := make([]managedfields.Entry, 0, len(o.entries))
	for _, c := range o.entries {
		if set, ok := known[c.fields]; ok {
			out = append(out, managedfields.Entry{Owner: c.toOwner(), Fields: set})
			continue
		}
		entries, err := managedfields.EntriesOf([]metav1.ManagedFieldsEntry{c.typed()})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			known[c.fields] = e.Fields
		}
		out = append(out, entries...)
	}
	return out, nil
}

func (c compact) toOwner() managedfields.Owner {
	owner := c.owner.Value()
	if c.time != 0 {
		owner.Time = time.Unix(c.time, 0).UTC()
	}
	return owner
}

func (c compact) equal(other compact) bool { return c.owner == other.owner && c.fields == other.fields }

func (c compact) typed() metav1.ManagedFieldsEntry {
	owner := c.toOwner()
	out := metav1.ManagedFieldsEntry{
		Manager: owner.Manager, Operation: metav1.ManagedFieldsOperationType(owner.Operation),
		Subresource: owner.Subresource, APIVersion: owner.APIVersion, FieldsType: "FieldsV1",
	}
	if text := c.fields.Value(); text != "" {
		out.FieldsV1 = &metav1.FieldsV1{}
		out.FieldsV1.SetRawString(text)
	}
	if !owner.Time.IsZero() {
		t := metav1.NewTime(owner.Time)
		out.Time = &t
	}
	return out
}
