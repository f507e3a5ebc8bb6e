// Package recorder records tracked changes, object by object: takeovers and releases
// become records in the cluster and Events on their objects, all transitions become
// counters and, if wanted, lines of a log.
//
//	r := recorder.New(store, recorder.Options{Namespace: "k8sconnect", Events: events})
//	go r.Run(ctx)
//	r.Record(occurrence, func(o ownership.Outcome) { … }) // never blocks; the function is called when it is settled
//	r.Lead(true)                       // from now on, also changes without a hint
//
// A queue keeps what is not written yet: bounded, for each object, written at once the
// first time, and at growing intervals if two owners fight. Records are never
// overwritten, whichever replica wrote them: a write reads the record first, adds all
// that is known of the object, and starts again if another write came between.
//
// All replicas share one rate limit, and see what the others write, so that no two of
// them spend it on the same object. Namespaces are served in turn.
//
// The package does not watch, and does not decide what a takeover is.
package recorder
