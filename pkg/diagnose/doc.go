// Package diagnose gathers the facts that the rules of a diagnosis need, and finds the
// controller of an object.
//
//	facts := diagnose.NewFacts()
//	g := diagnose.Gatherer{Reader: reader}
//	err := g.Fill(ctx, facts, func(r *diagnose.Run) {
//		pods, sure := r.List(diagnose.KindOf("v1", "Pod"), "prod")
//		…
//	})
//
// Rules ask, the gatherer answers. A rule is a function over a [Run]. A question whose
// answer is not known yet is noted; the [Gatherer] reads the answers to all noted
// questions in parallel and runs the rules again, until they ask for nothing more. So only
// the rule says what a situation needs, nothing else is read, and the same facts lead to
// the same causes.
//
// Unknown is not absent: each answer says whether it is sure, and [Run.Unanswered]
// lists what could not be read.
//
// [Run.Controller] is the only search for an object's controller, so that all explanations
// name the same one.
//
// The packages below it hold only rules: stuck explains why a deletion hangs, unready
// why an object does not get ready. Nothing here changes the cluster, waits for it or
// prints.
package diagnose
