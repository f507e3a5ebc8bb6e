// Package diagnose finds out what the rules of a diagnosis need to know, and who is
// the controller of an object.
//
//	facts := diagnose.NewFacts()
//	g := diagnose.Gatherer{Reader: reader}
//	err := g.Fill(ctx, facts, func(r *diagnose.Run) {
//		pods, sure := r.List(diagnose.KindOf("v1", "Pod"), "prod")
//		…
//	})
//
// Rules ask, the gatherer answers. A rule is a function over a [Run]. What it asks for
// and is not known yet is noted; the [Gatherer] reads all that was noted, side by side,
// and runs the rules again, until they ask for nothing more. So a rule is the one place
// that says what a situation needs to know, only that is read, and the same facts lead
// to the same causes.
//
// Unknown is not absent: each answer says whether it is sure, and what could not be
// read is in [Run.Unanswered].
//
// [Run.Controller] is the one search for an object's controller. Whoever explains why
// something does not go on names the same one.
//
// The packages below it are rules and nothing else: stuck says why a deletion hangs,
// unready why an object does not get ready. Nothing here changes the cluster, waits for
// it or prints.
package diagnose
