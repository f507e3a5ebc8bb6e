// Package ownership says how the owners of an object's fields change from one
// version of the object to the next, and how that is written down.
//
//	transitions, err := ownership.Transitions(old, new)
//	for _, t := range transitions {
//		if t.Kind == ownership.Taken {
//			fmt.Fprintln(w, t) // .spec.replicas taken from kube-controller-manager (scale) by flux (Apply)
//		}
//	}
//
// A takeover is what two versions of an object prove: somebody held a path and
// does not any more, somebody else does, and the value is another one. Whatever
// leaves another explanation (entries of two API versions, the API server's own
// bookkeeping, managed fields that were cleared, a value that stayed) is
// [Unclear], with its reason, and never a takeover.
//
// [Owners] is the compact form of who owns what, for who has to remember it of
// many objects. [Record] is what is kept of an object's transitions: bounded, and
// without any value.
//
// It knows neither a cluster nor who sent a request; the webhook does.
package ownership
