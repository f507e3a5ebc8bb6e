// Package ownership classifies how the owners of an object's fields change from one
// version of the object to the next, and defines the record of these changes.
//
//	transitions, err := ownership.BetweenObjects(before, after, values)
//	for _, t := range transitions {
//		if t.Kind == ownership.Taken {
//			fmt.Fprintln(w, t) // .spec.replicas taken from kube-controller-manager (scale) by flux (Apply)
//		}
//	}
//
// A takeover is what two versions of an object prove: one owner lost a path,
// another one holds it now, and the value differs. If there is another explanation
// (entries of two API versions, the API server's own bookkeeping, cleared managed
// fields, an unchanged value), the change is [Unclear], with its reason, and never
// a takeover.
//
// [Owners] is the compact form of the owners, for callers that remember those of
// many objects. [Record] is what is kept of an object's transitions: bounded, and
// without any value.
//
// The package knows neither a cluster nor who sent a request; the webhook does.
package ownership
