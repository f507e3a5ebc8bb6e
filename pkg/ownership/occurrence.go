package ownership

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Hint is what admission knows of a write that would change owners: its user and, since
// admission saw the values, what becomes of each path. The write may still be refused; it
// is then sent again with another hint, or never.
type Hint struct {
	UID types.UID // UID of the object
	// ResourceVersion of the object before the write.
	ResourceVersion string
	// Owners of the object after the write, if it is committed as admitted.
	Owners Owners
	// Verdicts on the transitions that lead there, without the owners that are not tracked
	// on either side.
	Verdicts Verdicts
	// User is the user who sent the request.
	User string
	// Request is the UID of the admission request.
	Request types.UID
	Time    time.Time
}

// Size is the approximate number of bytes it takes.
func (h Hint) Size() int {
	return hintSize + h.Owners.Size() + h.Verdicts.Size() + len(h.User) + len(h.UID) + len(h.Request)
}

// hintSize is the size of a hint without its contents.
const hintSize = 400

// Occurrence is a committed transition: where, when and by whom.
type Occurrence struct {
	Object Object
	Transition
	Occasion
}
