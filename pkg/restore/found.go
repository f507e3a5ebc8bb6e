package restore

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// The state of an object that could not be put back.
const (
	notLookedAt = "it was not looked at again: it is as this run made it, unless others have changed it since"
	unknownNow  = "what it is now is unknown"
	notThere    = "it does not exist now"
	another     = "another object has its name now"
	asItWas     = "it is as it was before this run"
	asMade      = "it is still as this run made it"
	changed     = "it is as this run made it, with what others have changed since"
	perhaps     = "whether this run has changed it is unknown"
	halfBack    = "its values are as before this run, as far as others have not changed them, but who owns them is not"
)

// found says what the object is now. live is nil if it does not exist.
func (n Note) found(live *unstructured.Unstructured) string {
	is := func(u *unstructured.Unstructured) bool { return u != nil && u.GetUID() == live.GetUID() }
	unchanged := func(u *unstructured.Unstructured) bool {
		return is(u) && u.GetResourceVersion() == live.GetResourceVersion()
	}
	switch {
	case live == nil:
		return notThere
	case live.GetDeletionTimestamp() != nil && (is(n.Before) || is(n.After)):
		return onItsWay
	case unchanged(n.Before):
		return asItWas
	case n.valued && is(n.After):
		return halfBack
	case unchanged(n.After):
		return asMade
	case is(n.After):
		return changed
	case is(n.Before), n.Before == nil && n.After == nil:
		return perhaps
	default:
		return another
	}
}
