package ownership

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Hint is what admission knows of a write that would change owners: its user and, because admission
// saw the values, the verdict on each path. The write may still be refused; it is then sent again
// with another hint, or never.
type Hint struct {
	UID types.UID // UID of the object
	// ResourceVersion of the object before the write.
	ResourceVersion string
	// Owners are those of the object after the write, if it is committed as admitted.
	Owners Owners
	// Scaled is set for a write through the subresource scale, whose review has no owners: it
	// changes the owners of the number of replicas, for Manager if that is known.
	Scaled  bool
	Manager string
	// Verdicts are on the transitions to these owners, without owners that are not tracked.
	Verdicts Verdicts
	// Values are those that a record may keep, by path.
	Values map[string]ValueChange
	// User sent the request.
	User string
	// Request is the UID of the admission request.
	Request types.UID
	Time    time.Time
}

// Size returns the approximate number of bytes of the hint.
func (h Hint) Size() int {
	size := hintSize + h.Owners.Size() + h.Verdicts.Size() + len(h.User) + len(h.UID) + len(h.Request)
	for path, v := range h.Values {
		size += len(path) + len(v.From) + len(v.To)
	}
	return size
}

// Fits reports whether a change from the hint's version to these owners may be its write.
func (h Hint) Fits(to Owners, transitions []Transition) bool {
	if !h.Scaled {
		return h.Owners.Equal(to)
	}
	return len(transitions) == 1 && slices.ContainsFunc(transitions[0].Gained(), func(o managedfields.Owner) bool {
		return o.Subresource == Scale && (h.Manager == "" || o.Manager == h.Manager)
	})
}

// Scale is the subresource of the number of replicas.
const Scale = "scale"

// hintSize is the size of a hint without its contents.
const hintSize = 400

// Occurrence is a committed transition: where, when and by whom.
type Occurrence struct {
	Object Object
	Transition
	Occasion
}
