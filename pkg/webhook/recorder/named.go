package recorder

import (
	"hash/fnv"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// maxNamed is the number of entries remembered for an object; a record has no more.
const maxNamed = 64

// named holds the entries of one object, by path and owners in either direction, for
// which a user was written. Only this process knows the first user of an entry, so that
// write does not wait as later ones do.
type named map[uint64]struct{}

func (n named) has(t pendingTransition) bool {
	_, ok := n[t.entry]
	return ok
}

// add returns the set with the transitions that name their user.
func (n named) add(transitions []pendingTransition) named {
	for _, t := range transitions {
		if !t.ours() || len(n) >= maxNamed {
			continue
		}
		if n == nil {
			n = named{}
		}
		n[t.entry] = struct{}{}
	}
	return n
}

// entryOf is a fingerprint of the entry that a transition is counted in.
func entryOf(t ownership.Transition) uint64 {
	path := fnv.New64a()
	_, _ = path.Write([]byte(t.Path.String()))
	return path.Sum64() ^ (partyOf(t.Before) + partyOf(t.After))
}

func partyOf(owners []managedfields.Owner) uint64 {
	h := fnv.New64a()
	for _, o := range owners {
		for _, text := range []string{o.Manager, o.Operation, o.Subresource, o.APIVersion} {
			_, _ = h.Write(append([]byte(text), 0))
		}
	}
	return h.Sum64()
}
