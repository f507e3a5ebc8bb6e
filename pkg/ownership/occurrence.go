package ownership

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Hint is what admission knows about a write that would change owners: its user and the verdict on
// each path. The write may still be refused, and a retry gets a hint of its own.
type Hint struct {
	UID types.UID // UID of the object
	// ResourceVersion is the object's version before the write.
	ResourceVersion string
	// Owners are the owners after the write, provided that it is committed as admitted.
	Owners Owners
	// Metadata is that after the write; the zero value if it is unknown.
	Metadata Metadata
	// Scaled means that the write went through the scale subresource, whose review does not contain
	// owners. The write makes Manager, if known, an owner of the number of replicas.
	Scaled   bool
	Manager  string
	Verdicts Verdicts
	// Values contains the values that a record may keep, by path.
	Values map[string]ValueChange
	User   string
	// Request is the UID of the admission request.
	Request types.UID
	Time    time.Time
}

// Size returns the approximate size of the hint in bytes.
func (h Hint) Size() int {
	size := hintSize + h.Owners.Size() + h.Verdicts.Size() + len(h.User) + len(h.UID) + len(h.Request)
	for path, v := range h.Values {
		size += len(path) + len(v.From) + len(v.To)
	}
	return size
}

// Fits reports whether the hint's write may have caused a change from the hint's version to the
// given owners.
func (h Hint) Fits(to Owners, transitions []Transition) bool {
	if !h.Scaled {
		return h.Owners.Equal(to)
	}
	return len(transitions) == 1 && slices.ContainsFunc(transitions[0].Gained(), func(o managedfields.Owner) bool {
		return o.Subresource == Scale && (h.Manager == "" || o.Manager == h.Manager)
	})
}

// Metadata identifies the labels and annotations of a version of an object.
type Metadata struct {
	apiVersion string
	digest     uint64
}

// MetadataOf returns the metadata of an object as it is at an API version.
func MetadataOf(apiVersion string, labels, annotations map[string]string) Metadata {
	h := fnv.New64a()
	for _, all := range []map[string]string{labels, annotations} {
		for _, key := range slices.Sorted(maps.Keys(all)) {
			_, _ = fmt.Fprintf(h, "%q%q", key, all[key])
		}
		_, _ = h.Write([]byte{0})
	}
	return Metadata{apiVersion, h.Sum64()}
}

// Contradicts reports whether both cannot be of the same version of an object. It returns false if
// they are at different API versions, because a conversion may change annotations.
func (m Metadata) Contradicts(other Metadata) bool {
	return m.apiVersion == other.apiVersion && m.digest != other.digest
}

// Scale is the subresource that sets the number of replicas.
const Scale = "scale"

const hintSize = 400

// Occurrence is a committed transition, with its object, time and user.
type Occurrence struct {
	Object Object
	Transition
	Occasion
}

// Fit marks the transitions of one write that a record has no place for, because it keeps only the
// newest entries. The first of the others counts them, so that every replica counts them once.
func Fit(write []Occurrence) {
	more := -maxEntries
	for _, o := range write {
		if o.Notable() {
			more++
		}
	}
	omitted := max(0, more)
	for i := range write {
		switch o := &write[i]; {
		case !o.Notable():
		case more > 0:
			o.Excess = true
			more--
		default:
			o.Omitted = omitted
			return
		}
	}
}

// Verdicts are the classifications of the transitions of one write. Each takes one byte, because
// many are held until it is known whether their writes were committed.
type Verdicts struct{ codes string }

// The code of a verdict is its index in verdicts.
type verdict struct {
	kind   Kind
	why    Why
	forced bool
}

func verdicts() []verdict {
	return []verdict{
		{kind: Claimed},
		{kind: Shared},
		{kind: Taken},
		{kind: Taken, forced: true},
		{kind: Lost},
		{kind: Released},
		{kind: Removed},
		{kind: Unclear, why: CrossVersion},
		{kind: Unclear, why: Bookkeeping},
		{kind: Unclear, why: Reset},
		{kind: Unclear, why: Migration},
		{kind: Unclear, why: SameValue},
		{kind: Given},
	}
}

// VerdictsOn returns the verdicts on transitions returned by [BetweenObjects].
func VerdictsOn(transitions []Transition) Verdicts {
	all := verdicts()
	codes := make([]byte, len(transitions))
	for i, t := range transitions {
		codes[i] = byte(slices.Index(all, verdict{t.Kind, t.Why, t.Forced}))
	}
	return Verdicts{string(codes)}
}

// Size returns the size of the verdicts in bytes.
func (v Verdicts) Size() int { return len(v.codes) }

// On applies the verdicts to transitions that were found without values, between the same two
// versions. There must be one verdict for each transition; otherwise On returns false and changes
// nothing.
func (v Verdicts) On(transitions []Transition) bool {
	all := verdicts()
	if len(v.codes) != len(transitions) || slices.ContainsFunc([]byte(v.codes), func(c byte) bool { return int(c) >= len(all) }) {
		return false
	}
	for i := range transitions {
		t, is := &transitions[i], all[v.codes[i]]
		t.Kind, t.Why, t.Forced = is.kind, is.why, is.forced
	}
	return true
}
