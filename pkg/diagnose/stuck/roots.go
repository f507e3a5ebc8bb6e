package stuck

import (
	"cmp"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Explained is an object that is terminating, and why it does not go away.
type Explained struct {
	Ref object.Ref
	// Since is its deletion timestamp as stored by the server: the end of a grace period.
	Since  time.Time
	Causes []event.Cause
}

// Root is one cause with everything that it holds back.
type Root struct {
	Cause event.Cause
	// Holds are the objects that wait for it, sorted.
	Holds []object.Ref
	// Total is their number.
	Total int
}

// rootKey distinguishes causes: by their code and the object that has to change, or by
// their words if no object has to.
type rootKey struct {
	code, message string
	blockedBy     object.Key
}

func keyOf(c event.Cause) rootKey {
	key := rootKey{code: c.Code, blockedBy: c.BlockedBy.Key()}
	if c.BlockedBy == (object.Ref{}) {
		key.message = c.Message
	}
	return key
}

// Roots groups objects that the same cause holds back, the cause that holds back the most
// first. Only the first cause of each object counts.
func Roots(objects []Explained) []Root {
	byKey := map[rootKey]*Root{}
	for _, o := range objects {
		if len(o.Causes) == 0 {
			continue
		}
		key := keyOf(o.Causes[0])
		if byKey[key] == nil {
			byKey[key] = &Root{Cause: o.Causes[0]}
		}
		if len(o.Causes[0].Evidence) < len(byKey[key].Cause.Evidence) {
			// Report the evidence of an object that the cause holds back directly: an
			// object that waits for that one has more.
			byKey[key].Cause = o.Causes[0]
		}
		byKey[key].Holds = append(byKey[key].Holds, o.Ref)
	}
	roots := make([]Root, 0, len(byKey))
	for _, r := range byKey {
		slices.SortFunc(r.Holds, object.Ref.Compare)
		r.Total = len(r.Holds)
		roots = append(roots, *r)
	}
	slices.SortFunc(roots, func(a, b Root) int {
		return cmp.Or(
			cmp.Compare(b.Total, a.Total),
			cmp.Compare(a.Cause.Code, b.Cause.Code),
			a.Cause.BlockedBy.Compare(b.Cause.BlockedBy),
			cmp.Compare(a.Cause.Message, b.Cause.Message),
		)
	})
	return roots
}
