package recorder

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// pendingTransition is a transition that is not written yet.
type pendingTransition struct {
	ownership.Transition
	ownership.Occasion
	came    time.Time
	entry   uint64 // see entryOf
	settled func(ownership.Outcome)
}

// ours reports whether to write it without being the leader, as the replica with the
// hint does.
func (n pendingTransition) ours() bool { return n.User != "" && !n.Noted }

// same reports whether two are the same transition.
func (n pendingTransition) same(other pendingTransition) bool {
	return n.entry == other.entry && n.ResourceVersion == other.ResourceVersion && n.Gap == other.Gap
}

// joined returns the transition with what another process noted of it.
func (n pendingTransition) joined(noted pendingTransition) pendingTransition {
	if n.User == "" && noted.User != "" {
		n.User, n.Kind, n.Forced, n.Values, n.Noted = noted.User, noted.Kind, noted.Forced, noted.Values, true
	}
	first, second := n.settled, noted.settled
	n.settled = func(o ownership.Outcome) {
		for _, settled := range []func(ownership.Outcome){first, second} {
			if settled != nil {
				settled(o)
			}
		}
	}
	return n
}

// calls returns the call that reports the outcome.
func (n pendingTransition) calls(o ownership.Outcome) func() {
	if n.settled == nil {
		return func() {}
	}
	return func() { n.settled(o) }
}

// loss is how many transitions of an object found no room, and the resource version
// of the newest of them.
type loss struct {
	count   int
	version string
}

func (l loss) and(other loss) loss {
	sum := l.count + other.count
	if l.count == 0 || object.Newer(other.version, l.version) {
		l = other
	}
	l.count = sum
	return l
}
