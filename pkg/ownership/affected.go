package ownership

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Affected limits a gap in the history to some objects. It maps kinds, written as Kind or
// Kind.group, to the first digits of the objects' UIDs; an empty list means all objects of the kind.
// Nil means all objects of all kinds.
type Affected map[string][]string

const (
	// uidDigits is short, because a checkpoint may contain thousands of UIDs. Two objects with the
	// same digits share a gap, which is more than is missing, but never less.
	uidDigits = 8
	// maxAffected is the number of objects of a kind beyond which all objects of the kind are
	// affected.
	maxAffected = 256
)

// AffectedBy returns the affected objects of a kind; none means all of them.
func AffectedBy(kind schema.GroupKind, uids ...types.UID) Affected {
	short := make([]string, 0, min(len(uids), maxAffected+1))
	for _, uid := range uids {
		if len(short) > maxAffected {
			break
		}
		short = append(short, shortUID(uid))
	}
	return Affected{kind.String(): listOf(short)}
}

// deletions precedes a kind whose deletions are missing. Older programs ignore such a kind.
const deletions = "deletions/"

// DeletionsOf returns the deletions of all objects of a kind. They are apart from its objects, since
// no owner of an object that exists is unknown.
func DeletionsOf(kind schema.GroupKind) Affected { return Affected{deletions + kind.String(): {}} }

// ConcernsDeletions reports whether deletions of objects of a kind may be missing.
func (a Affected) ConcernsDeletions(kind schema.GroupKind) bool {
	_, ok := a[deletions+kind.String()]
	return ok || a.Concerns(kind, "")
}

// OnlyDeletions reports whether only deletions are missing.
func (a Affected) OnlyDeletions() bool {
	for kind := range a {
		if !strings.HasPrefix(kind, deletions) {
			return false
		}
	}
	return len(a) > 0
}

func shortUID(uid types.UID) string { return string(uid[:min(len(uid), uidDigits)]) }

func listOf(short []string) []string {
	slices.Sort(short)
	if short = slices.Compact(short); len(short) > maxAffected {
		return []string{}
	}
	return short
}

// Concerns reports whether a gap concerns an object. With an empty UID, it reports whether the gap
// concerns any object of the kind.
func (a Affected) Concerns(kind schema.GroupKind, uid types.UID) bool {
	if a == nil {
		return true
	}
	uids, ok := a[kind.String()]
	return ok && (uid == "" || len(uids) == 0 || slices.Contains(uids, shortUID(uid)))
}

// And returns the objects that are affected by either.
func (a Affected) And(other Affected) Affected {
	if a == nil || other == nil {
		return nil
	}
	all := maps.Clone(a)
	for kind, uids := range other {
		before, ok := all[kind]
		switch {
		case !ok:
			all[kind] = uids
		case len(before) == 0 || len(uids) == 0:
			all[kind] = []string{}
		default:
			all[kind] = listOf(slices.Concat(before, uids))
		}
	}
	return all
}

// Equal reports whether both affect the same objects.
func (a Affected) Equal(other Affected) bool {
	return (a == nil) == (other == nil) && maps.EqualFunc(a, other, slices.Equal[[]string])
}

// Len returns the number of UIDs.
func (a Affected) Len() (n int) {
	for _, uids := range a {
		n += len(uids)
	}
	return n
}
